"""Principals: cached until something changes, and never used after that."""

from __future__ import annotations

import asyncio
import datetime as dt
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass

import anyio
import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import create_async_engine

from store.accounts import Accounts, Plan
from store.credentials import LIFETIMES, Kind
from store.database import Database
from store.errors import DatabaseUnavailableError
from store.grants import Grants
from store.keys import Keys, Principal
from store.principals import PRINCIPAL_BYTES, SYMBOL_BYTES, Changes, Principals, changes_of
from store.tokens import Tokens
from store.usage import UsageLog
from store.watchlist import Watchlist
from tests.clocks import SetClock

START = dt.datetime(2026, 1, 2, tzinfo=dt.UTC)

ON_ONE = pytest.mark.parametrize("database", ["sqlite"], indirect=True)
"""What is kept is the same over each engine; which changes end it is tried on both."""


@dataclass
class House:
    """An account with a key, and a `Principals` over it; `asked` counts the look-ups."""

    database: Database
    accounts: Accounts
    keys: Keys
    tokens: Tokens
    watchlist: Watchlist
    principals: Principals
    changes: Changes
    secret: str
    prefix: str
    account_id: int
    clock: SetClock
    asked: int = 0

    @asynccontextmanager
    async def noticing(self) -> AsyncIterator[None]:
        """Wait after the block until its change is noticed."""
        before = self.changes.count()
        yield
        with anyio.fail_after(2):
            while self.changes.count() == before:
                await asyncio.sleep(0)

    async def by_hand(self, statement: str) -> None:
        """Change something as an operator does in a shell, and wait until it is noticed."""
        engine = create_async_engine(self.database.url)
        async with self.noticing(), engine.begin() as shell:
            await shell.exec_driver_sql(statement)
        await engine.dispose()

    async def admitted(self, credential: str) -> Principal:
        """Find a principal whose call is admitted."""
        principal = await self.principals.find(credential)
        assert principal is not None
        self.principals.remember(principal)
        return principal


@pytest.fixture
async def house(database: Database) -> AsyncIterator[House]:
    accounts, keys, watchlist = Accounts(database), Keys(database), Watchlist(database)
    account = await accounts.add("ada@example.com", Plan.PREMIUM)
    key, secret = await keys.create("ada@example.com", "laptop")
    clock = SetClock(START)
    tokens = Tokens(database, clock=clock)
    changes = changes_of(database)
    principals = Principals(keys, tokens, watchlist, changes, clock=clock)
    principals.open()
    watching = asyncio.create_task(principals.keep_watching())
    with anyio.fail_after(10):
        while changes.count() is None:
            await asyncio.sleep(0)
    house = House(
        *(database, accounts, keys, tokens, watchlist, principals),
        *(changes, secret, key.prefix, account.id),
        clock=clock,
    )

    @sa.event.listens_for(database.engine.sync_engine, "before_cursor_execute")
    def note(_c: object, _cursor: object, statement: str, *_: object) -> None:
        house.asked += statement.lstrip().startswith("SELECT")

    yield house
    watching.cancel()
    principals.close()


@ON_ONE
async def test_an_admitted_principal_is_found_again_without_a_look_up(house: House) -> None:
    first = await house.admitted(house.secret)
    house.asked = 0

    again = await house.principals.find(house.secret)

    assert again == first
    assert house.asked == 0


@ON_ONE
async def test_a_principal_whose_call_was_refused_is_not_kept(house: House) -> None:
    await house.principals.find(house.secret)
    house.asked = 0

    await house.principals.find(house.secret)

    assert house.asked == 1


@ON_ONE
async def test_what_a_principal_tracks_is_looked_up_once(house: House) -> None:
    await house.watchlist.replace(house.account_id, ["IBM", "AAPL"], 5)
    principal = await house.admitted(house.secret)
    before = await house.principals.tracked(principal)
    house.asked = 0

    again = await house.principals.tracked(principal)

    assert before == again == ("IBM", "AAPL")
    assert house.asked == 0


async def test_every_change_that_decides_who_may_call_is_counted(house: House) -> None:
    counts = [house.changes.count()]
    for change in (
        house.watchlist.replace(house.account_id, ["AAPL"], 5),
        house.accounts.set_plan("ada@example.com", Plan.NONE),
        house.accounts.set_active("ada@example.com", active=False),
        house.keys.revoke(house.prefix),
    ):
        await change
        counts.append(house.changes.count())

    assert None not in counts
    assert counts == sorted(set(counts), key=lambda count: count or 0)


@ON_ONE
async def test_writing_the_usage_log_changes_nothing_that_is_kept(house: House) -> None:
    usage = UsageLog(house.database)
    principal = await house.admitted(house.secret)
    await house.principals.tracked(principal)
    usage.record(principal, "scan", "curl")
    await usage.flush()
    house.asked = 0

    await house.principals.find(house.secret)
    await house.principals.tracked(principal)

    assert house.asked == 0


async def test_a_key_revoked_by_another_process_is_not_found_again(house: House) -> None:
    await house.admitted(house.secret)
    elsewhere = Database(house.database.url)

    async with house.noticing():
        await Keys(elsewhere).revoke(house.prefix)
    await elsewhere.close()

    assert await house.principals.find(house.secret) is None


async def test_a_change_by_hand_in_the_database_is_noticed_too(house: House) -> None:
    await house.admitted(house.secret)

    await house.by_hand("UPDATE accounts SET active = (1 = 0)")

    assert await house.principals.find(house.secret) is None


async def test_a_change_between_look_up_and_admission_keeps_nothing(house: House) -> None:
    found = await house.principals.find(house.secret)
    assert found is not None
    await house.accounts.set_plan("ada@example.com", Plan.NONE)
    await house.principals.find("ps_live_somebody_else")  # notices the change

    house.principals.remember(found)

    again = await house.principals.find(house.secret)
    assert again is not None
    assert again.account.plan is Plan.NONE


@ON_ONE
async def test_a_kept_access_token_ends_at_its_time(house: House) -> None:
    grants = Grants(house.database, clock=house.clock)
    await grants.add_client("app", "An app", ("http://127.0.0.1/",))
    code = await grants.approve(house.account_id, "app", "An app", "http://127.0.0.1/", "challenge")
    pair = await house.tokens.redeem(code, "app", "challenge", None)
    assert pair is not None
    await house.admitted(pair.access)
    lifetime = LIFETIMES[Kind.ACCESS]

    house.clock.now = START + lifetime - dt.timedelta(seconds=1)
    assert await house.principals.find(pair.access) is not None
    house.clock.now = START + lifetime
    assert await house.principals.find(pair.access) is None


@ON_ONE
async def test_no_credential_stays_in_memory(house: House) -> None:
    principal = await house.admitted(house.secret)

    assert house.secret not in repr(vars(house.principals)) + repr(principal)


@ON_ONE
async def test_a_principal_and_what_it_tracks_are_kept_within_their_bound(house: House) -> None:
    bound = 2 * PRINCIPAL_BYTES + 10 * SYMBOL_BYTES
    small = Principals(house.keys, house.tokens, house.watchlist, house.changes, kept_bytes=bound)
    looked_up = []
    for count in (10, 11):
        await house.watchlist.replace(house.account_id, [f"A{n}" for n in range(count)], 50)
        for _ in range(2):
            house.asked = 0
            found = await small.find(house.secret)
            assert found is not None
            small.remember(found)
            assert len(await small.tracked(found)) == count
        looked_up.append(house.asked)

    assert looked_up == [0, 2]


@ON_ONE
async def test_nothing_is_kept_while_the_count_of_changes_cannot_be_read(house: House) -> None:
    path = str(house.database.engine.url.database)
    principal = await house.admitted(house.secret)
    await house.principals.tracked(principal)

    with closing(sqlite3.connect(path)) as shell:
        shell.execute("ALTER TABLE changes RENAME TO elsewhere")
        house.asked = 0
        for _ in range(2):
            await house.principals.tracked(await house.admitted(house.secret))
        unread = house.asked
        shell.execute("ALTER TABLE elsewhere RENAME TO changes")
    for _ in range(2):
        await house.principals.tracked(await house.admitted(house.secret))

    assert unread == 4
    assert house.asked == unread + 2


async def test_what_was_looked_up_while_something_changed_is_not_kept(house: House) -> None:
    principal = await house.admitted(house.secret)
    look_up = asyncio.create_task(house.principals.tracked(principal))
    await asyncio.sleep(0)  # it asks the database
    await house.by_hand("UPDATE accounts SET plan = 'none'")
    await house.principals.find("ps_live_somebody_else")  # notices the change
    await look_up
    house.asked = 0

    await house.principals.tracked(await house.admitted(house.secret))

    assert house.asked == 2


@ON_ONE
async def test_an_account_found_before_a_change_is_not_given_what_was_kept_since(
    house: House,
) -> None:
    before = await house.admitted(house.secret)
    await house.watchlist.replace(house.account_id, ["AAPL"], 5)
    await house.principals.tracked(await house.admitted(house.secret))
    house.asked = 0

    assert await house.principals.tracked(before) == ("AAPL",)

    assert house.asked == 1


@ON_ONE
async def test_once_closed_nothing_is_kept(house: House) -> None:
    await house.admitted(house.secret)
    for _ in range(2):
        house.principals.close()
    house.asked = 0

    for _ in range(2):
        await house.admitted(house.secret)

    assert house.asked == 2


GUESSES = ("ps_live_" + "x" * 48, "pso_at_" + "x" * 43, "", "\0")


async def test_a_guessed_credential_costs_at_most_one_read(house: House) -> None:
    for guess in GUESSES:
        assert await house.principals.find(guess) is None

    assert house.asked == (len(GUESSES) if house.database.server else 0)


async def test_a_guess_that_is_repeated_costs_nothing_until_something_changes(
    house: House,
) -> None:
    for _ in range(2):
        assert await house.principals.find(house.secret[:-1]) is None
    once = house.asked
    await house.by_hand("UPDATE accounts SET plan = 'none'")
    await house.principals.find(house.secret[:-1])

    assert (once, house.asked) == ((1, 2) if house.database.server else (0, 0))


@ON_ONE
async def test_a_look_up_whose_turn_does_not_come_in_time_takes_no_connection(
    house: House,
) -> None:
    parts = (house.keys, house.tokens, house.watchlist, house.changes)
    crowded = Principals(*parts, at_once=0, seconds=0)
    with pytest.raises(DatabaseUnavailableError):
        await crowded.find(house.secret)

    assert house.asked == 0
