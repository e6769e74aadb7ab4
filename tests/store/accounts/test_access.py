"""Ending what opens an account, and deleting the account with everything about it."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any

import pytest
import sqlalchemy as sa

from store.accounts.accounts import (
    Account,
    AccountPlan,
    Accounts,
    Ended,
    hash_secret,
    lock_account,
    utc_now,
)
from store.accounts.audit import Actor, EventKind
from store.accounts.grants import Grants
from store.accounts.keys import Keys
from store.accounts.screens import Screens
from store.accounts.sessions import PROOF, Browsers, Sessions
from store.accounts.tokens import Tokens
from store.accounts.usage import UsageLog
from store.accounts.watchlist import Watchlist
from store.database import tables
from store.database.database import Database
from store.errors import (
    AccountError,
    DatabaseUnavailableError,
    SignedOutError,
    StalePasswordError,
)
from tests.accounts import CALLBACK, count_of, new_code, new_tokens, rows_of

HASH = "the hash of a password"
OWNER = Actor("owner", "192.0.2.1", "a browser")


@dataclass
class Person:
    """An account with one of everything, and what opens it."""

    account: Account
    secret: str
    access: str
    token: str
    """Of a session."""
    feed: str
    """The secret of the feed of a saved screen."""


class House:
    """The parts of a service, and what is in its tables."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.accounts, self.keys = Accounts(database), Keys(database)
        self.grants, self.tokens = Grants(database), Tokens(database)
        week = dt.timedelta(days=7)
        self.sessions = Sessions(database, idle=week, lifetime=week)
        self.usage, self.watchlist = UsageLog(database), Watchlist(database)
        self.screens = Screens(database)

    async def person(self, name: str) -> Person:
        account = await self.accounts.add(f"{name}@example.com", AccountPlan.PREMIUM, HASH)
        _, secret = await self.keys.create(account.email, "laptop")
        if await self.grants.client("host") is None:
            await self.grants.add_client("host", "A host", (CALLBACK,))
        pair = await new_tokens(self.grants, self.tokens, account.id)
        token = await self.sessions.start(account.id, HASH, actor=OWNER)
        await self.watchlist.change(account.id, lambda _: ["AAPL", "IBM"])
        principal = await self.keys.principal(secret)
        assert principal is not None
        self.usage.record(principal, "me", "client")
        await self.usage.flush()
        async with self.database.write() as connection:
            browser = {"token_hash": name, "account_id": account.id, "seen_at": utc_now()}
            await connection.execute(tables.browsers.insert().values(browser))
        screen = await self.screens.save(account.id, "Near", "/screen", tracked_only=False)
        feed = await self.screens.new_feed(account.id, screen.id, token, actor=OWNER)
        assert feed is not None
        return Person(account, secret, pair.access, token, feed)

    async def opens(self, person: Person) -> tuple[bool, bool, bool]:
        """Whether the key, the app and the session of a person open the account."""
        return (
            await self.keys.principal(person.secret) is not None,
            await self.tokens.principal(person.access) is not None,
            await self.sessions.account(person.token) is not None,
        )

    async def events(self) -> list[tuple[str, str, int | None]]:
        """Kind, actor and account of every event, oldest first."""
        audit = tables.audit
        query = sa.select(audit.c.kind, audit.c.actor, audit.c.account_id).order_by(audit.c.id)
        return [tuple(row) for row in await self.database.rows(query)]


@pytest.fixture
async def house(database: Database) -> House:
    return House(database)


async def test_a_new_password_ends_keys_and_apps_only_where_that_is_chosen(house: House) -> None:
    ada, eve = await house.person("ada"), await house.person("eve")

    await house.sessions.start(ada.account.id, HASH)
    kept = await house.accounts.set_password("ada@example.com", "second")
    after_first = await house.opens(ada)
    ended = await house.accounts.set_password(
        "ada@example.com", "third", end_access=True, actor=OWNER
    )

    assert kept == Ended(sessions=2)
    assert after_first == (True, True, False)
    assert await house.accounts.password_hash("ada@example.com") == "third"
    assert ended == Ended(sessions=0, keys=1, apps=1)
    assert await house.opens(ada) == (False, False, False)
    assert await house.opens(eve) == (True, True, True)
    assert (await house.events())[-4:] == [
        (kind, "owner", ada.account.id)
        for kind in (
            *(EventKind.PASSWORD_CHANGED, EventKind.KEY_REVOKED),
            *(EventKind.APP_REVOKED, EventKind.FEED_ENDED),
        )
    ]


async def test_a_change_that_is_refused_ends_nothing(house: House) -> None:
    ada = await house.person("ada")

    with pytest.raises(StalePasswordError):
        await house.accounts.set_password(
            "ada@example.com", "new", replacing="another", end_access=True
        )

    assert await house.opens(ada) == (True, True, True)
    assert await house.accounts.password_hash("ada@example.com") == HASH


async def test_everything_ends_but_the_session_that_asks_for_it(house: House) -> None:
    ada, eve = await house.person("ada"), await house.person("eve")
    asking = await house.sessions.start(ada.account.id, HASH)

    ended = await house.accounts.end_access(ada.account.id, but=asking, actor=OWNER)

    assert ended == Ended(sessions=1, keys=1, apps=1)
    assert await house.opens(ada) == (False, False, False)
    assert await house.sessions.account(asking) is not None
    assert await house.opens(eve) == (True, True, True)
    assert [kind for kind, *_ in await house.events()][-4:] == [
        *(EventKind.SESSION_ENDED, EventKind.KEY_REVOKED),
        *(EventKind.APP_REVOKED, EventKind.FEED_ENDED),
    ]
    assert await house.screens.of_feed(ada.feed) is None
    assert await house.screens.of_feed(eve.feed) is not None
    assert len(await house.screens.of_account(ada.account.id)) == 1


async def test_the_browser_that_asks_to_end_everything_else_stays_known(house: House) -> None:
    ada = await house.person("ada")
    browsers = Browsers(house.database)
    mine, other = [await browsers.remember(None, ada.account.id) for _ in range(2)]

    await house.accounts.end_access(ada.account.id, but=ada.token, browser=mine)

    assert await browsers.knows(mine, ada.account.email)
    assert not await browsers.knows(other, ada.account.email)
    assert await house.sessions.account(ada.token) is not None


@pytest.mark.parametrize(
    ("end", "stays"),
    [
        (lambda accounts, ada: accounts.end_sessions(ada.email), True),
        (lambda accounts, ada: accounts.set_password(ada.email, "another hash"), False),
        (lambda accounts, ada: accounts.set_active(ada.email, active=False), False),
        (lambda accounts, ada: accounts.end_access(ada.id), False),
    ],
)
async def test_a_browser_stays_known_where_only_its_session_ends(
    house: House, end: Callable[[Accounts, Account], Awaitable[object]], stays: bool
) -> None:
    ada, eve = await house.person("ada"), await house.person("eve")
    browsers = Browsers(house.database)
    token, hers = [await browsers.remember(None, each.account.id) for each in (ada, eve)]

    await end(house.accounts, ada.account)

    assert await house.sessions.account(ada.token) is None
    assert await browsers.knows(token, ada.account.email) == stays
    assert await browsers.knows(hers, eve.account.email)
    assert await house.sessions.account(eve.token) is not None


async def test_a_key_that_has_expired_is_not_revoked_with_the_others(house: House) -> None:
    ada = await house.person("ada")
    year = dt.timedelta(days=365)
    await house.keys.create(ada.account.email, "old", expires_at=utc_now() + year)
    later = Accounts(house.database, clock=lambda: utc_now() + year)

    assert (await later.end_access(ada.account.id)).keys == 1
    keys = await house.keys.of_account(ada.account.email)
    assert [key.revoked_at is None for key in keys] == [False, True]


async def test_a_browser_of_a_deleted_account_is_not_remembered(house: House) -> None:
    eve = await house.person("eve")
    await house.accounts.delete("eve@example.com")

    with pytest.raises(AccountError, match="deleted"):
        await Browsers(house.database).remember(None, eve.account.id)


async def test_a_deleted_account_leaves_nothing_but_that_it_was_deleted(house: House) -> None:
    ada = await house.person("ada")
    before = await rows_of(house.database)
    eve = await house.person("eve")

    deleted = await house.accounts.delete("EVE@example.com")

    after = await rows_of(house.database)
    assert await house.opens(eve) == (False, False, False)
    assert await house.opens(ada) == (True, True, True)
    assert "eve" not in str(after)
    added = {name: len(rows) - len(before[name]) for name, rows in after.items()}
    # a used form is a hash that names no account; it goes when the form would have expired
    assert added == {**dict.fromkeys(added, 0), "audit": 1, "used_forms": 1}
    assert deleted == {
        "codes": 1,
        "tokens": 2,
        "grants": 1,
        "keys": 1,
        "sessions": 1,
        "browsers": 1,
        "watchlist": 2,
        "screens": 1,
        "usage": 1,
        "audit": 6,
    }
    assert (await house.events())[-1] == (EventKind.ACCOUNT_DELETED, "operator", eve.account.id)
    with pytest.raises(AccountError, match="no account"):
        await house.accounts.delete("eve@example.com")


async def test_no_account_gets_the_number_of_a_deleted_one(house: House) -> None:
    first = await house.accounts.add("ada@example.com", AccountPlan.PREMIUM)
    deleted = await house.accounts.add("eve@example.com", AccountPlan.PREMIUM)
    await house.accounts.delete(deleted.email)

    again = await house.accounts.add("eve@example.com", AccountPlan.PREMIUM)

    assert len({first.id, deleted.id, again.id}) == 3


async def test_a_call_under_way_changes_no_list_of_a_deleted_account(house: House) -> None:
    eve = await house.person("eve")
    await house.accounts.delete("eve@example.com")

    with pytest.raises(DatabaseUnavailableError):
        await house.watchlist.change(eve.account.id, lambda _: ["AAPL"])
    with pytest.raises(DatabaseUnavailableError):
        await house.watchlist.change(eve.account.id, lambda own: [*own, "AAPL"])


Work = Callable[[House, Person], Coroutine[Any, Any, object]]


def make_key(house: House, person: Person) -> Coroutine[Any, Any, object]:
    return house.keys.create(person.account.email, "another", session=person.token)


def make_app(house: House, person: Person) -> Coroutine[Any, Any, object]:
    return new_code(house.grants, person.account.id, session=person.token)


def end_everything(house: House, person: Person) -> Coroutine[Any, Any, object]:
    return house.accounts.end_access(person.account.id)


def change_password(house: House, person: Person) -> Coroutine[Any, Any, object]:
    return house.accounts.set_password(person.account.email, "second", end_access=True)


async def live(database: Database) -> int:
    """How many keys and apps are not revoked."""
    keys, grants = tables.keys, tables.grants
    live_keys = await count_of(database, keys, keys.c.revoked_at.is_(None))
    return live_keys + await count_of(database, grants, grants.c.revoked_at.is_(None))


@pytest.mark.parametrize("end", [end_everything, change_password])
@pytest.mark.parametrize("make", [make_key, make_app])
async def test_a_session_that_was_ended_makes_no_key_and_no_app(
    house: House, make: Work, end: Work
) -> None:
    ada = await house.person("ada")
    await make(house, ada)
    await end(house, ada)

    with pytest.raises(SignedOutError, match="signed out"):
        await make(house, ada)

    assert await live(house.database) == 0


@pytest.mark.parametrize("end", [end_everything, change_password])
@pytest.mark.parametrize("make", [make_key, make_app])
async def test_what_a_session_makes_while_it_is_ended_ends_with_it(
    house: House, make: Work, end: Work
) -> None:
    ada = await house.person("ada")
    async with house.database.write() as connection:
        await lock_account(connection, ada.account.id)
        works = [asyncio.create_task(work(house, ada)) for work in (end, make)]
        await asyncio.wait(works, timeout=0.1)  # whether they are waiting by then or not

    ended, made = await asyncio.gather(*works, return_exceptions=True)

    assert isinstance(ended, Ended)
    assert isinstance(made, SignedOutError | tuple | str)
    assert await live(house.database) == 0


@pytest.mark.parametrize("end", [end_everything, change_password])
async def test_an_approval_under_way_ends_with_its_session(house: House, end: Work) -> None:
    ada = await house.person("ada")
    form = {"form_hash": hash_secret(ada.token), "expires_at": utc_now()}
    async with house.database.engine.connect() as holder:
        # On PostgreSQL the approval waits for this row when it has found the session.
        await holder.execute(tables.used_forms.insert().values(form))
        works = []
        for work in (make_app, end):
            works.append(asyncio.create_task(work(house, ada)))
            await asyncio.wait(works, timeout=0.1)
        await holder.rollback()

    made, ended = await asyncio.gather(*works, return_exceptions=True)

    assert isinstance(made, SignedOutError | str)
    assert isinstance(ended, Ended)
    assert await live(house.database) == 0


@pytest.mark.parametrize("make", [make_key, make_app])
async def test_a_session_makes_nothing_for_another_account_or_long_after_its_password(
    house: House, make: Work
) -> None:
    ada, eve = await house.person("ada"), await house.person("eve")
    before = await live(house.database)

    with pytest.raises(SignedOutError):
        await make(house, replace(eve, token=ada.token))
    async with house.database.write() as connection:
        await connection.execute(tables.sessions.update().values(proven_at=utc_now() - PROOF))
    with pytest.raises(SignedOutError):
        await make(house, ada)

    assert await live(house.database) == before
