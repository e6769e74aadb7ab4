"""Principals: kept until their own account changes, and never used after that.

Over 400 lines, because every change of an account is tried on the same kept principals.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from typing import Any, TypeVar

import anyio
import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import create_async_engine

from screener.telemetry.metrics import principals_cache
from store.accounts.accounts import AccountPlan, Accounts, hash_secret
from store.accounts.credentials import LIFETIMES, CredentialKind
from store.accounts.grants import Grants
from store.accounts.keys import Keys, Principal
from store.accounts.principals import PRINCIPAL_BYTES, SYMBOL_BYTES, Principals
from store.accounts.tokens import TokenPair, Tokens
from store.accounts.watchlist import Watchlist
from store.database import changes as feed
from store.database.changes import AccountChanges, changes_of
from store.database.database import Database
from store.database.migration import drop
from store.errors import DatabaseUnavailableError
from tests.accounts import CALLBACK, new_tokens
from tests.clocks import SetClock

T = TypeVar("T")

START = dt.datetime(2026, 1, 2, tzinfo=dt.UTC)

ON_ONE = pytest.mark.parametrize("database", ["sqlite"], indirect=True)
"""What is kept is the same over each engine; which changes end it is tried on both."""


@dataclass
class Person:
    """An account with a key, an app and a list, and what opens it."""

    account_id: int
    email: str
    prefix: str
    secret: str
    grant: str
    pair: TokenPair


Seen = tuple[Principal | None, Principal | None, tuple[str, ...]]
"""What a key and an access token of a person open, and what the account tracks."""


@dataclass
class House:
    """Two people, and a `Principals` over the database; `asked` counts the look-ups."""

    database: Database
    clock: SetClock = field(default_factory=lambda: SetClock(START))
    asked: int = 0
    looked: int = 0

    def __post_init__(self) -> None:
        database, clock = self.database, self.clock
        self.accounts, self.watchlist = Accounts(database), Watchlist(database)
        self.keys, self.grants = Keys(database, clock=clock), Grants(database, clock=clock)
        self.tokens = Tokens(database, clock=clock)
        self.changes: AccountChanges = changes_of(database)
        self.principals = self.new_principals()

    def new_principals(self, **bounds: Any) -> Principals:
        parts = (self.keys, self.tokens, self.watchlist, self.changes)
        return Principals(*parts, clock=self.clock, **bounds)

    async def furnish(self) -> None:
        await self.grants.add_client("host", "A host", (CALLBACK,))
        self.ada, self.bob = await self.person("ada"), await self.person("bob")

    async def person(self, name: str) -> Person:
        account = await self.accounts.add(f"{name}@example.com", AccountPlan.PREMIUM)
        key, secret = await self.keys.create(account.email, "laptop")
        pair = await new_tokens(self.grants, self.tokens, account.id)
        (grant,) = await self.grants.unrevoked(account.id)
        await self.watchlist.change(account.id, lambda _: ["IBM", "AAPL"])
        return Person(account.id, account.email, key.prefix, secret, grant.prefix, pair)

    def note(self, statement: str) -> None:
        """Note a statement that the database runs."""
        self.looked += "FROM changes" in statement
        self.asked += statement.startswith("SELECT") and "changes" not in statement

    def newest(self) -> int | None:
        """The number of the newest change; None while it is not known."""
        self.changes.look()
        return self.changes.newest

    @asynccontextmanager
    async def noticing(self) -> AsyncIterator[None]:
        """Wait after the block until its change is noticed."""
        before = self.newest()
        yield
        with anyio.fail_after(2):
            while self.newest() == before:
                await asyncio.sleep(0)

    async def by_hand(self, *statements: str) -> None:
        """Change something as an operator does in a shell, and wait until it is noticed."""
        engine = create_async_engine(self.database.url)
        async with self.noticing(), engine.begin() as shell:
            for statement in statements:
                await shell.exec_driver_sql(statement)
        await engine.dispose()

    async def found(self, credential: str) -> Principal:
        principal = await self.principals.find(credential)
        assert principal is not None
        return principal

    async def sees(self, person: Person) -> Seen:
        """What the calls of a person find."""
        found = [await self.principals.find(each) for each in (person.secret, person.pair.access)]
        key, token = found
        holder = key or token
        return key, token, await self.principals.tracked(holder) if holder else ()

    async def stored(self, person: Person) -> Seen:
        """What is stored, whatever is kept."""
        key = await self.keys.principal(person.secret)
        token = await self.tokens.principal(person.pair.access)
        tracked = await self.watchlist.symbols(person.account_id)
        return key, token, tuple(tracked) if key or token else ()


@pytest.fixture
async def house(database: Database, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[House]:
    monkeypatch.setattr(feed, "FRESH_SECONDS", 60)  # a slow machine forgets nothing here
    house = House(database)
    await house.furnish()
    watching = asyncio.create_task(house.changes.keep_watching())
    with anyio.fail_after(10):
        while house.newest() is None:
            await asyncio.sleep(0)
    if database.server is None:
        database.reader().set_trace_callback(house.note)

    @sa.event.listens_for(database.engine.sync_engine, "before_cursor_execute")
    def note(_c: object, _cursor: object, statement: str, *_: object) -> None:
        house.note(statement)

    yield house
    watching.cancel()


def at_once(call: Coroutine[None, None, T]) -> T:
    """The result of a call that waits for nothing."""
    with pytest.raises(StopIteration) as ended:
        call.send(None)
    found: T = ended.value.value
    return found


@ON_ONE
async def test_what_a_caller_opens_is_looked_up_once_and_without_a_wait(house: House) -> None:
    for _ in range(2):
        for credential in (house.ada.secret, house.ada.pair.access):
            principal = at_once(house.principals.find(credential))
            assert principal is not None
            assert principal.account.id == house.ada.account_id
            assert at_once(house.principals.tracked(principal)) == ("IBM", "AAPL")

    assert house.asked == 3


@ON_ONE
async def test_what_cannot_be_read_at_once_is_looked_up_by_waiting(house: House) -> None:
    with_wait = await house.stored(house.ada)
    house.database.reader().close()

    assert await house.stored(house.ada) == with_wait
    assert await house.sees(house.ada) == with_wait


@ON_ONE
async def test_changes_are_looked_at_once_in_a_turn_of_the_loop(house: House) -> None:
    await house.sees(house.ada)
    await asyncio.sleep(0)
    house.looked = 0

    await asyncio.gather(*(house.sees(person) for person in (house.ada, house.bob) * 10))
    await asyncio.sleep(0)
    await house.sees(house.ada)

    assert house.looked == 2


Change = Callable[[House], Awaitable[object]]


def by_hand(statement: str) -> Change:
    """A change that an operator makes in a shell."""
    return lambda house: house.by_hand(statement)


CHANGES: dict[str, Change] = {
    "plan": lambda h: h.accounts.set_plan(h.ada.email, AccountPlan.NONE),
    "active": lambda h: h.accounts.set_active(h.ada.email, active=False),
    "end": lambda h: h.accounts.end_access(h.ada.account_id),
    "password": lambda h: h.accounts.set_password(h.ada.email, "hash", end_access=True),
    "deletion": lambda h: h.accounts.delete(h.ada.email),
    "key": lambda h: h.keys.revoke(h.ada.prefix),
    "own key": lambda h: h.keys.revoke_own(h.ada.account_id, h.ada.prefix),
    "other key": lambda h: h.keys.replace(h.ada.prefix),
    "app": lambda h: h.grants.revoke_grant(h.ada.account_id, h.ada.grant),
    "token": lambda h: h.tokens.revoke(h.ada.pair.access, "host"),
    "rotation": lambda h: h.tokens.rotate(h.ada.pair.refresh, "host"),
    "list": lambda h: h.watchlist.change(h.ada.account_id, lambda _: ["AAPL"]),
    "edit": lambda h: h.watchlist.change(h.ada.account_id, lambda own: [*own[1:], "A"]),
    "move": lambda h: h.watchlist.change(h.ada.account_id, lambda own: own[::-1]),
    **{
        statement: by_hand(statement)
        for statement in (
            "UPDATE accounts SET plan = 'none' WHERE id = 1",
            "DELETE FROM keys WHERE account_id = 1",
            "UPDATE grants SET revoked_at = created_at WHERE account_id = 1",
            "DELETE FROM tokens WHERE grant_id = 1",
            "UPDATE tokens SET expires_at = '2026-01-02 00:00:00' WHERE grant_id = 1",
            "INSERT INTO watchlist VALUES (1, 'MSFT', 7)",
            "DELETE FROM watchlist WHERE account_id = 1",
        )
    },
}
"""What decides what Ada's calls find: writes of the store, and changes in a shell. Her account and
grant are the first ones.
"""


@pytest.mark.parametrize("name", CHANGES)
async def test_after_a_change_the_next_call_sees_it_and_nobody_else_is_looked_up_again(
    house: House, name: str
) -> None:
    before, others = await house.sees(house.ada), await house.sees(house.bob)

    await CHANGES[name](house)
    await asyncio.sleep(0)
    house.asked = 0
    assert await house.sees(house.bob) == others
    assert house.asked == 0

    after = await house.sees(house.ada)
    assert after == await house.stored(house.ada) != before


MOVES = {
    "key": "UPDATE keys SET account_id = 2 WHERE account_id = 1",
    "grant": "UPDATE grants SET account_id = 2 WHERE account_id = 1",
    "token": "UPDATE tokens SET grant_id = 2 WHERE grant_id = 1",
}

ODD = {
    "replaced key": "INSERT OR REPLACE INTO keys (id, account_id, prefix, secret_hash, name, "
    "created_at) SELECT id, 2, prefix, secret_hash, name, created_at FROM keys WHERE id = 1",
    "replaced token": "UPDATE OR REPLACE tokens SET kind = 'access', token_hash = (SELECT "
    "token_hash FROM tokens WHERE grant_id = 1 AND kind = 'access') "
    "WHERE grant_id = 2 AND kind = 'refresh'",
    "replaced account": "INSERT OR REPLACE INTO accounts (id, email, plan, active, created_at) "
    "SELECT 1, email, 'none', 1, created_at FROM accounts WHERE id = 2",
    "ignored": "INSERT OR IGNORE INTO watchlist VALUES (1, 'IBM', 0), (1, 'A', 7), (2, 'A', 8)",
    "orphans": "PRAGMA foreign_keys = OFF; DELETE FROM grants WHERE account_id = 1; "
    "DELETE FROM tokens WHERE grant_id = 1",
}
"""What SQLite alone takes."""


async def check_all_is_seen(house: House, statements: str) -> None:
    before = await house.sees(house.ada)
    await house.sees(house.bob)

    await house.by_hand(*statements.split("; "))

    for person in (house.ada, house.bob):
        assert await house.sees(person) == await house.stored(person)
    assert await house.sees(house.ada) != before


@pytest.mark.parametrize("name", MOVES)
async def test_what_changes_hands_is_noticed_of_both(house: House, name: str) -> None:
    await check_all_is_seen(house, MOVES[name])


@ON_ONE
@pytest.mark.parametrize("name", ODD)
async def test_what_is_replaced_or_left_alone_is_noticed_too(house: House, name: str) -> None:
    await check_all_is_seen(house, ODD[name])


@pytest.mark.parametrize(
    ("unknown", "statement"),
    [
        ("ps_live_unknown", "UPDATE keys SET secret_hash = '{}' WHERE id = 1"),
        (
            "ps_live_another",
            "INSERT INTO keys (account_id, prefix, secret_hash, name, created_at) "
            "SELECT 1, 'new', '{}', name, created_at FROM keys WHERE id = 1",
        ),
        (
            "pso_at_unknown",
            "INSERT INTO tokens (token_hash, grant_id, kind, expires_at) "
            "VALUES ('{}', 1, 'access', '2026-01-02 00:30:00')",
        ),
    ],
)
async def test_a_credential_that_opened_nothing_opens_once_it_is_stored(
    house: House, unknown: str, statement: str
) -> None:
    assert await house.principals.find(unknown) is None

    await house.by_hand(statement.format(hash_secret(unknown)))

    assert (await house.found(unknown)).account.id == house.ada.account_id


async def test_tables_that_were_dropped_and_made_again_are_another_database(house: House) -> None:
    await house.sees(house.ada)
    elsewhere = Database(house.database.url)

    async with elsewhere.exclusive() as connection:
        await connection.run_sync(drop)
    await elsewhere.migrate()
    await elsewhere.close()

    with anyio.fail_after(5):
        while await house.principals.find(house.ada.secret) is not None:
            await asyncio.sleep(0)


@ON_ONE
@pytest.mark.parametrize("bound", ["MAX_KEPT", "AT_ONCE"])
async def test_of_more_accounts_than_are_known_all_count_as_changed(
    house: House, monkeypatch: pytest.MonkeyPatch, bound: str
) -> None:
    monkeypatch.setattr(feed, bound, 1)

    await check_all_is_seen(house, "UPDATE accounts SET plan = 'none'")

    assert len(house.changes.newest_of) <= 1


@ON_ONE
async def test_a_kept_access_token_ends_at_its_time(house: House) -> None:
    token, lifetime = house.ada.pair.access, LIFETIMES[CredentialKind.ACCESS]
    await house.found(token)

    house.clock.now = START + lifetime - dt.timedelta(seconds=1)
    assert await house.principals.find(token) is not None
    house.clock.now = START + lifetime
    assert await house.principals.find(token) is None


@ON_ONE
async def test_no_credential_stays_in_memory(house: House) -> None:
    principal = await house.found(house.ada.secret)

    assert house.ada.secret not in repr(vars(house.principals)) + repr(principal)


def many(count: int) -> Callable[[Sequence[str]], Sequence[str]]:
    """A change to a list of so many symbols."""
    return lambda _: [f"A{number}" for number in range(count)]


@ON_ONE
async def test_a_principal_and_what_it_tracks_are_kept_within_their_bound(house: House) -> None:
    small = house.new_principals(kept_bytes=2 * PRINCIPAL_BYTES + 10 * SYMBOL_BYTES)
    looked_up = []
    for count in (10, 11):
        await house.watchlist.change(house.ada.account_id, many(count))
        for _ in range(2):
            house.asked = 0
            found = await small.find(house.ada.secret)
            assert found is not None
            assert len(await small.tracked(found)) == count
        looked_up.append(house.asked)

    assert looked_up == [0, 2]


@ON_ONE
async def test_nothing_is_kept_while_it_is_not_known_what_has_changed(house: House) -> None:
    await house.sees(house.ada)
    with closing(sqlite3.connect(str(house.database.engine.url.database))) as shell:
        shell.execute("ALTER TABLE changes RENAME TO elsewhere")
        await asyncio.sleep(0)
        house.asked = 0
        for _ in range(2):
            await house.sees(house.ada)
        shell.execute("ALTER TABLE elsewhere RENAME TO changes")
    await asyncio.sleep(0)
    assert house.asked == 6

    await house.sees(house.ada)
    assert house.asked == 6


async def test_what_was_looked_up_while_something_changed_is_not_kept(house: House) -> None:
    principal = await house.found(house.ada.secret)
    look_up = asyncio.create_task(house.principals.tracked(principal))
    await asyncio.sleep(0)  # it asks the database
    await house.by_hand("UPDATE accounts SET plan = 'none'")
    await look_up
    house.asked = 0

    await house.principals.tracked(await house.found(house.ada.secret))

    assert house.asked == 2


GUESSES = ("ps_live_" + "x" * 48, "pso_at_" + "x" * 43, "", "\0")


async def test_look_ups_are_counted_by_whether_the_principal_was_known(house: House) -> None:
    hits, misses = principals_cache.hits, principals_cache.misses
    for _ in range(3):
        await house.found(house.ada.secret)
    await house.found(house.bob.secret)

    assert (principals_cache.hits, principals_cache.misses) == (hits + 2, misses + 2)


async def test_a_guessed_credential_costs_one_read_until_something_changes(house: House) -> None:
    for _ in range(2):
        for guess in GUESSES:
            assert await house.principals.find(guess) is None
    once = house.asked
    await house.by_hand("UPDATE accounts SET plan = 'none'")
    await house.principals.find(GUESSES[0])

    assert (once, house.asked) == (len(GUESSES), len(GUESSES) + 1)


@ON_ONE
async def test_a_look_up_whose_turn_does_not_come_in_time_takes_no_connection(
    house: House,
) -> None:
    crowded = house.new_principals(at_once=0, seconds=0)
    with pytest.raises(DatabaseUnavailableError):
        await crowded.find(house.ada.secret)

    assert house.asked == 0
