"""The audit log: one event for each change, with it or not at all, and none is ever altered.

Over 400 lines, because every change of an account is tried on the same accounts.
"""

from __future__ import annotations

import ast
import datetime as dt
import inspect
from collections.abc import Awaitable, Callable
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from oauth.authorization import Authorization
from store.accounts import retention
from store.accounts.accounts import AccountPlan, Accounts, hash_secret
from store.accounts.audit import MAX_TEXT, Actor, AuditEvent, AuditLog, EventKind, add_event
from store.accounts.grants import Grants
from store.accounts.keys import Keys
from store.accounts.sessions import Sessions, handle_of
from store.accounts.tokens import TokenPair, Tokens
from store.database import tables
from store.database.database import Database
from store.errors import StoreError
from tests.accounts import CALLBACK, new_code, rows_of, swept
from tests.clocks import SetClock

START = dt.datetime(2026, 5, 4, 12, tzinfo=dt.UTC)
DAY = dt.timedelta(days=1)
ADA = "ada@example.com"
HASH = "the hash of a password"
SOMEBODY = Actor("owner", "192.0.2.7", "Firefox")


class House:
    """An account with a key, a session, an app that is connected, and one that is about to be."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.clock = SetClock(START)
        self.accounts = Accounts(database, clock=self.clock)
        self.keys = Keys(database, clock=self.clock)
        self.sessions = Sessions(database, idle=7 * DAY, lifetime=30 * DAY, clock=self.clock)
        self.grants = Grants(database, clock=self.clock)
        self.tokens = Tokens(database, clock=self.clock)
        self.log = AuditLog(database)
        self.account_id = 0
        self.prefix = self.session = self.code = self.used_code = self.grant = ""
        self.pair = TokenPair("", "")

    async def furnish(self) -> None:
        self.account_id = (await self.accounts.add(ADA, AccountPlan.PREMIUM, HASH)).id
        self.prefix = (await self.keys.create(ADA, "laptop"))[0].prefix
        self.session = await self.sessions.start(self.account_id, HASH)
        await self.grants.add_client("host", "A host", (CALLBACK,))
        self.code, self.used_code = await self.approve(), await self.approve()
        pair = await self.tokens.redeem(self.used_code, "host", "challenge", CALLBACK)
        assert pair is not None
        self.pair = pair
        self.grant = (await self.grants.all_grants())[0].prefix

    async def approve(self) -> str:
        return await new_code(self.grants, self.account_id, actor=SOMEBODY)

    async def sweep(self, most_events: int = retention.MAX_EVENTS) -> int:
        """How many events a sweep removes."""
        return (await swept(self.database, self.clock, most_events))["events"]

    async def redeem(self, code: str) -> TokenPair | None:
        return await self.tokens.redeem(code, "host", "challenge", CALLBACK, actor=SOMEBODY)


@pytest.fixture
async def house(database: Database) -> House:
    house = House(database)
    await house.furnish()
    return house


Change = Callable[[House], Awaitable[object]]

CHANGES: dict[str, tuple[Change, list[EventKind]]] = {
    "Accounts.add": (
        lambda h: h.accounts.add("eve@example.com", AccountPlan.NONE, actor=SOMEBODY),
        [EventKind.ACCOUNT_ADDED],
    ),
    "Accounts.set_plan": (
        lambda h: h.accounts.set_plan(ADA, AccountPlan.NONE),
        [EventKind.PLAN_CHANGED],
    ),
    "Accounts.set_active": (
        lambda h: h.accounts.set_active(ADA, active=False),
        [EventKind.SESSION_ENDED, EventKind.ACCOUNT_DEACTIVATED],
    ),
    "Accounts.set_password": (
        lambda h: h.accounts.set_password(ADA, "another", actor=SOMEBODY),
        [EventKind.PASSWORD_CHANGED],
    ),
    "Keys.create": (lambda h: h.keys.create(ADA, "phone", actor=SOMEBODY), [EventKind.KEY_CREATED]),
    "Keys.replace": (
        lambda h: h.keys.replace(h.prefix, actor=SOMEBODY),
        [EventKind.KEY_CREATED, EventKind.KEY_REVOKED],
    ),
    "Keys.revoke": (lambda h: h.keys.revoke(h.prefix, actor=SOMEBODY), [EventKind.KEY_REVOKED]),
    "Keys.revoke_own": (
        lambda h: h.keys.revoke_own(h.account_id, h.prefix, actor=SOMEBODY),
        [EventKind.KEY_REVOKED],
    ),
    "Sessions.start": (
        lambda h: h.sessions.start(h.account_id, HASH, actor=SOMEBODY),
        [EventKind.SIGN_IN],
    ),
    "Sessions.note_failure": (
        lambda h: h.sessions.note_failure(ADA, SOMEBODY),
        [EventKind.SIGN_IN_FAILED],
    ),
    "Sessions.end": (lambda h: h.sessions.end(h.session, actor=SOMEBODY), [EventKind.SIGN_OUT]),
    "Accounts.end_sessions": (
        lambda h: h.accounts.end_sessions(ADA, actor=SOMEBODY),
        [EventKind.SESSION_ENDED],
    ),
    "Sessions.end_own": (
        lambda h: h.sessions.end_own(h.account_id, handle_of(h.session), actor=SOMEBODY),
        [EventKind.SESSION_ENDED],
    ),
    "Accounts.end_access": (
        lambda h: h.accounts.end_access(h.account_id, actor=SOMEBODY),
        # One for the sessions, and one for each key and app.
        [
            EventKind.APP_REVOKED,
            EventKind.APP_REVOKED,
            EventKind.KEY_REVOKED,
            EventKind.SESSION_ENDED,
        ],
    ),
    "Accounts.delete": (
        lambda h: h.accounts.delete(ADA, actor=SOMEBODY),
        [EventKind.ACCOUNT_DELETED],
    ),
    "Grants.approve": (lambda h: h.approve(), [EventKind.APP_APPROVED]),
    "Grants.revoke_grant": (
        lambda h: h.grants.revoke_grant(h.account_id, h.grant, actor=SOMEBODY),
        [EventKind.APP_REVOKED],
    ),
    "Grants.delete_client": (
        lambda h: h.grants.delete_client("host", actor=SOMEBODY),
        # One for the app, and one for each of the approvals that end with it.
        [EventKind.CLIENT_DELETED, EventKind.APP_REVOKED, EventKind.APP_REVOKED],
    ),
    "Tokens.redeem": (lambda h: h.redeem(h.code), [EventKind.TOKENS_ISSUED]),
    "Tokens.redeem again": (lambda h: h.redeem(h.used_code), [EventKind.TOKEN_REUSED]),
    "Tokens.revoke": (
        lambda h: h.tokens.revoke(h.pair.access, "host", actor=SOMEBODY),
        [EventKind.APP_REVOKED],
    ),
}
"""What each method that changes something leaves in the log, newest first."""

BY_THE_OPERATOR = {"Accounts.set_plan", "Accounts.set_active"}

SILENT = {
    "Accounts": {"all", "get", "lacking", "password_hash"},
    "Keys": {"of_account", "principal", "unrevoked"},
    "Sessions": {"account", "all", "is_proven", "of_account", "prove"},
    "Grants": {
        *("add_client", "keep_document"),  # an app of nobody's yet
        *("all_grants", "approves", "client", "clients", "refuse", "unrevoked"),
    },
    # An app refreshes its tokens every hour.
    "Tokens": {"client_of", "principal", "rotate"},
}
"""The methods that read, or change nothing that an account's owner or the operator decides."""


def test_every_method_of_the_store_is_known_to_leave_an_event_or_none() -> None:
    methods = {
        f"{owner.__name__}.{name}"
        for owner in (Accounts, Keys, Sessions, Grants, Tokens)
        for name, _ in inspect.getmembers(owner, inspect.iscoroutinefunction)
        if not name.startswith("_")
    }
    silent = {f"{owner}.{name}" for owner, names in SILENT.items() for name in names}

    assert methods == silent | {name.split(" ")[0] for name in CHANGES}


@pytest.mark.parametrize("name", CHANGES)
async def test_a_change_leaves_its_event_in_the_log(house: House, name: str) -> None:
    change, kinds = CHANGES[name]
    before = await house.log.events()

    await change(house)

    events = [event for event in await house.log.events() if event not in before]
    assert [event.kind for event in events] == kinds
    for event in events:
        by = "operator" if name in BY_THE_OPERATOR else "owner"
        assert event.actor == by
        assert (event.network, event.agent) == (("", "") if by == "operator" else SOMEBODY[1:])
        assert event.email == {
            EventKind.ACCOUNT_ADDED: "eve@example.com",
            EventKind.ACCOUNT_DELETED: None,
            EventKind.CLIENT_DELETED: None,
        }.get(event.kind, ADA)


@pytest.mark.parametrize("name", CHANGES)
async def test_a_change_whose_event_cannot_be_written_is_not_made(
    on_sqlite: Database, name: str
) -> None:
    house = House(on_sqlite)
    await house.furnish()
    trigger = "CREATE TRIGGER full_log BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'x'); END"
    async with on_sqlite.write() as connection:
        await connection.execute(sa.text(trigger))
    before = await rows_of(on_sqlite)

    with pytest.raises((StoreError, SQLAlchemyError)):
        await CHANGES[name][0](house)

    assert await rows_of(on_sqlite) == before


async def test_a_change_that_fails_or_changes_nothing_leaves_no_event(house: House) -> None:
    before = await house.log.events()

    for refused in (
        lambda: house.accounts.add(ADA, AccountPlan.NONE),
        lambda: house.accounts.set_plan("nobody@example.com", AccountPlan.NONE),
        lambda: house.accounts.set_password(ADA, "another", replacing="a hash of before"),
        lambda: house.accounts.end_sessions("nobody@example.com"),
        lambda: house.keys.create(ADA, ""),
        lambda: house.keys.revoke("ps_live_nothing1"),
        lambda: house.sessions.start(house.account_id, "a hash of before"),
        lambda: new_code(house.grants, house.account_id, "nobody"),
    ):
        with pytest.raises(StoreError):
            await refused()
    await house.sessions.end("no token")
    await house.tokens.revoke("no token", "host")
    assert await house.redeem("no code") is None
    assert not await house.grants.delete_client("nobody")
    assert not await house.keys.revoke_own(house.account_id + 1, house.prefix)

    assert await house.log.events() == before


NAMING = {
    name
    for owner in (Accounts, Keys, Sessions, Grants, Tokens, Authorization)
    for name, method in inspect.getmembers(owner, inspect.iscoroutinefunction)
    if "actor" in inspect.signature(method).parameters and name != "note_failure"
}
"""The methods that take an actor by name, by default the operator or an app."""

PARTS = {"accounts", "keys", "sessions", "grants", "tokens", "authorization"}


@pytest.mark.parametrize("package", ["oauth", "screener.web"])
def test_a_page_and_an_endpoint_say_who_acts(package: str) -> None:
    silent, calls = list[str](), 0
    for path in Path(str(resources.files(package))).rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_text())):
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
                continue
            part = ast.unparse(call.func.value).split(".")[-1].removeprefix("_")
            if part in PARTS and call.func.attr in NAMING:
                calls += 1
                if "actor" not in [keyword.arg for keyword in call.keywords]:
                    silent.append(f"{path.name}:{call.lineno}")

    assert calls >= 4
    assert silent == []


async def test_an_app_is_connected_once_and_not_at_each_refresh(house: House) -> None:
    pair: TokenPair | None = house.pair
    for _ in range(3):
        assert pair is not None
        pair = await house.tokens.rotate(pair.refresh, "host")

    assert len(await house.log.events(kind=EventKind.TOKENS_ISSUED)) == 1


async def test_no_event_can_be_altered(house: House) -> None:
    before = await house.log.events()

    for change in ({"kind": "sign_out"}, {"account_id": 2}, {"at": START - DAY}):
        with pytest.raises((StoreError, SQLAlchemyError)) as refused:
            async with house.database.write() as connection:
                await connection.execute(tables.audit.update().values(change))
        assert "only added to" in str(refused.value.__cause__ or refused.value)

    assert await house.log.events() == before


async def test_events_are_read_newest_first_by_account_kind_time_and_page(house: House) -> None:
    eve = await house.accounts.add("eve@example.com", AccountPlan.NONE)
    house.clock.now += DAY
    await house.accounts.set_plan(ADA, AccountPlan.NONE)
    every = await house.log.events()
    pages: list[AuditEvent] = []
    while page := await house.log.events(before=pages[-1].id if pages else None, limit=2):
        assert len(page) <= 2
        pages += page

    assert pages == every == sorted(every, key=lambda event: event.id, reverse=True)
    assert {event.email for event in await house.log.events(house.account_id)} == {ADA}
    assert [event.kind for event in await house.log.events(eve.id)] == [EventKind.ACCOUNT_ADDED]
    assert [event.kind for event in await house.log.events(since=house.clock.now)] == [
        EventKind.PLAN_CHANGED
    ]
    assert [event.email for event in await house.log.events(kind=EventKind.ACCOUNT_ADDED)] == [
        "eve@example.com",
        ADA,
    ]
    assert len(await house.log.events(limit=-1)) == 1
    assert await house.log.events(eve.id + 1) == []
    assert every[-1].at == START


async def test_a_new_account_does_not_see_what_its_number_did_before(house: House) -> None:
    async with house.database.write() as connection:
        for table in (tables.codes, tables.tokens, tables.grants, tables.sessions, tables.keys):
            await connection.execute(table.delete())
        await connection.execute(tables.accounts.delete())
    house.clock.now += DAY
    eve = await house.accounts.add("eve@example.com", AccountPlan.NONE)

    assert [event.kind for event in await house.log.events(eve.id)] == [EventKind.ACCOUNT_ADDED]
    assert {event.email for event in await house.log.events()} == {"eve@example.com", None}


async def test_long_texts_are_cut(house: House) -> None:
    actor = Actor("stranger", "192.0.2.1", "a" * 1000)
    async with house.database.write() as connection:
        await add_event(connection, EventKind.SIGN_IN_FAILED, actor, START, subject="b" * 1000)

    (event,) = await house.log.events(kind=EventKind.SIGN_IN_FAILED)
    assert (len(event.agent), len(event.subject), event.email) == (MAX_TEXT, MAX_TEXT, None)


async def test_events_older_than_the_retention_are_removed(house: House) -> None:
    old = len(await house.log.events())
    house.clock.now += 10 * DAY
    await house.accounts.set_plan(ADA, AccountPlan.NONE)

    assert await house.sweep() == 0
    house.clock.now += dt.timedelta(microseconds=1)
    assert await house.sweep() == old
    assert [event.kind for event in await house.log.events()] == [EventKind.PLAN_CHANGED]


async def test_old_events_are_removed_so_many_at_once(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "MAX_AT_ONCE", 2)
    old, removed = len(await house.log.events()), list[int]()

    def listen(_connection: Any, cursor: Any, statement: str, *_rest: Any) -> None:
        if statement.startswith("DELETE FROM audit"):
            removed.append(cursor.rowcount)

    sa.event.listen(house.database.engine.sync_engine, "after_cursor_execute", listen)
    house.clock.now += 11 * DAY

    assert await house.sweep() == old == sum(removed)
    assert max(removed) == 2


async def test_above_the_bound_strangers_give_way_first_then_the_busiest_account(
    house: House,
) -> None:
    eve = await house.accounts.add("eve@example.com", AccountPlan.NONE)
    async with house.database.write() as connection:
        for actor, account_id in [
            *[(SOMEBODY, eve.id)] * 30,
            *[(Actor("stranger"), house.account_id)] * 20,
            *[(Actor("stranger"), None)] * 20,
        ]:
            await add_event(connection, EventKind.SIGN_IN_FAILED, actor, START, account_id)
    kinds = (EventKind.SIGN_IN, EventKind.KEY_CREATED)
    ada = [await house.log.events(kind=kind) for kind in kinds]
    count = len(await house.log.events())

    assert await house.sweep(count) == 0
    assert await house.sweep(count - 15) == 15
    assert [event.actor for event in await house.log.events(kind=EventKind.SIGN_IN_FAILED)].count(
        "stranger"
    ) == 25
    assert await house.sweep(20) == count - 15 - 20

    kept = await house.log.events()
    assert len(kept) == 20
    assert "stranger" not in [event.actor for event in kept]
    assert [await house.log.events(kind=kind) for kind in kinds] == ada


async def test_the_error_of_a_statement_does_not_say_what_it_was_given(on_sqlite: Database) -> None:
    async with on_sqlite.write() as connection:
        await connection.execute(sa.text("ALTER TABLE keys RENAME COLUMN name TO other"))

    with pytest.raises(StoreError) as refused:
        await Keys(on_sqlite).principal("ps_live_secret")

    assert "keys" in str(refused.value)
    assert hash_secret("ps_live_secret") not in str(refused.value)
