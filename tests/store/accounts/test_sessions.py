"""Sessions: how they begin, last and end."""

from __future__ import annotations

import asyncio
import datetime as dt
from itertools import pairwise

import pytest

from store.accounts.accounts import AccountPlan, Accounts
from store.accounts.audit import Actor
from store.accounts.sessions import PER_ACCOUNT, PROOF, Sessions, handle_of
from store.database import tables
from store.database.database import Database
from store.errors import StalePasswordError
from tests.accounts import swept
from tests.clocks import SetClock
from tests.postgres import ON_SQLITE

IDLE, LIFETIME = dt.timedelta(days=7), dt.timedelta(days=30)
START = dt.datetime(2026, 5, 4, 12, tzinfo=dt.UTC)
SECOND = dt.timedelta(seconds=1)
HASH = "the hash of a password"


@pytest.fixture
async def sessions(database: Database, clock: SetClock) -> Sessions:
    accounts = Accounts(database)
    for name in ("ada", "eve"):
        await accounts.add(f"{name}@example.com", AccountPlan.PREMIUM, HASH)
    return Sessions(database, idle=IDLE, lifetime=LIFETIME, clock=clock)


async def rows(database: Database) -> list[str]:
    return [str(row) for row in await database.rows(tables.sessions.select())]


async def test_a_session_is_the_accounts_until_it_is_ended(sessions: Sessions) -> None:
    token, other = await sessions.start(1, HASH), await sessions.start(2, HASH)

    account = await sessions.account(token)
    await sessions.end(token)

    assert account is not None
    assert account.email == "ada@example.com"
    assert token != other
    assert await sessions.account(token) is None
    assert await sessions.account(other) is not None


@ON_SQLITE
@pytest.mark.parametrize("token", ["", "unknown", "é"])
async def test_an_unknown_token_is_nobody(sessions: Sessions, token: str) -> None:
    await sessions.start(1, HASH)

    assert await sessions.account(token) is None
    await sessions.end(token)


async def test_a_token_is_nowhere_in_the_database(sessions: Sessions, database: Database) -> None:
    token = await sessions.start(1, HASH)

    stored = await rows(database)

    assert len(token) == 43
    assert len(stored) == 1
    assert token not in stored[0]


@pytest.mark.parametrize(("end", "in_use"), [(IDLE, False), (LIFETIME, True)])
async def test_a_session_that_is_not_used_runs_out_and_one_in_use_in_the_end(
    sessions: Sessions, clock: SetClock, end: dt.timedelta, in_use: bool
) -> None:
    token = await sessions.start(1, HASH)
    for day in range(1, 30) if in_use else ():
        clock.now = START + dt.timedelta(days=day)
        assert await sessions.account(token) is not None

    clock.now = START + end - SECOND
    assert await sessions.of_account(1), "who looks does not use it"
    clock.now = START + end
    assert await sessions.account(token) is None


async def test_the_session_unused_for_longest_gives_way_to_one_too_many(
    sessions: Sessions, clock: SetClock
) -> None:
    other = await sessions.start(2, HASH)
    tokens = []
    for _ in range(PER_ACCOUNT):
        clock.now += SECOND
        tokens.append(await sessions.start(1, HASH))
    clock.now += dt.timedelta(minutes=20)
    await sessions.account(tokens[0])

    tokens += [await sessions.start(1, HASH), await sessions.start(1, HASH)]

    live = [token for token in tokens if await sessions.account(token) is not None]
    assert live == [tokens[0], *tokens[3:]]
    assert await sessions.account(other) is not None


async def test_a_proof_that_is_dated_to_the_future_proves_nothing(
    sessions: Sessions, clock: SetClock
) -> None:
    token = await sessions.start(1, HASH)
    clock.now -= SECOND

    assert not await sessions.is_proven(token)


async def test_reading_often_does_not_write_often(
    sessions: Sessions, clock: SetClock, database: Database
) -> None:
    token = await sessions.start(1, HASH)
    before = await rows(database)

    clock.now = START + dt.timedelta(minutes=9)
    await sessions.account(token)
    soon = await rows(database)
    clock.now = START + dt.timedelta(minutes=10)
    await sessions.account(token)

    assert soon == before
    assert await rows(database) != before


async def test_sessions_that_ran_out_are_swept(
    sessions: Sessions, clock: SetClock, database: Database
) -> None:
    await sessions.start(1, HASH)
    clock.now = START + dt.timedelta(days=1)
    await sessions.start(2, HASH)

    clock.now = START + IDLE
    await sessions.start(1, HASH)
    assert len(await rows(database)) == 3
    assert (await swept(database, clock))["sessions"] == 1

    assert len(await sessions.of_account(1)) == len(await sessions.of_account(2)) == 1
    assert len(await rows(database)) == 2


async def test_deactivating_an_account_ends_its_sessions_for_good(
    sessions: Sessions, database: Database
) -> None:
    token, other = await sessions.start(1, HASH), await sessions.start(2, HASH)
    accounts = Accounts(database)

    await accounts.set_active("ada@example.com", active=False)
    silenced = await sessions.account(token)
    await accounts.set_active("ada@example.com", active=True)

    assert silenced is None
    assert await sessions.account(token) is None
    assert await sessions.account(other) is not None


async def test_a_session_that_replaces_another_ends_it(sessions: Sessions) -> None:
    old, kept = await sessions.start(1, HASH), await sessions.start(1, HASH)

    new = await sessions.start(2, HASH, replacing=old)

    assert await sessions.account(old) is None
    assert await sessions.account(kept) is not None
    assert await sessions.account(new) is not None


async def test_a_password_that_was_changed_meanwhile_starts_no_session(
    sessions: Sessions, database: Database
) -> None:
    await Accounts(database).set_password("ada@example.com", "new hash")

    with pytest.raises(StalePasswordError):
        await sessions.start(1, HASH)
    assert await rows(database) == []
    assert await sessions.account(await sessions.start(1, "new hash")) is not None


async def test_a_silenced_account_starts_no_session(sessions: Sessions, database: Database) -> None:
    await Accounts(database).set_active("ada@example.com", active=False)

    with pytest.raises(StalePasswordError):
        await sessions.start(1, HASH)


async def test_no_session_outlives_a_change_of_the_password_however_they_meet(
    sessions: Sessions, database: Database
) -> None:
    """Every sign-in that runs at the same time as a password change is refused or ended."""
    hashes = [HASH, *(f"hash {number}" for number in range(8))]

    async def sign_in(password_hash: str) -> str | None:
        try:
            return await sessions.start(1, password_hash)
        except StalePasswordError:
            return None

    for old, new in pairwise(hashes):
        change = Accounts(database).set_password("ada@example.com", new)
        *tokens, _ = await asyncio.gather(*(sign_in(old) for _ in range(4)), change)
        for token in tokens:
            assert await sessions.account(str(token)) is None


async def test_an_account_lists_and_ends_its_own_sessions_alone(
    sessions: Sessions, clock: SetClock
) -> None:
    mine = await sessions.start(1, HASH, actor=Actor("owner", "192.0.2.1", "A browser/1.0"))
    clock.now += SECOND
    other, hers = await sessions.start(1, HASH), await sessions.start(2, HASH)

    listed = await sessions.of_account(1)
    refused = [
        await sessions.end_own(2, handle_of(mine)),
        *[await sessions.end_own(1, handle) for handle in (handle_of(hers), "", "%", "_" * 16)],
    ]
    ended = await sessions.end_own(1, handle_of(mine))

    assert [session.handle for session in listed] == [handle_of(other), handle_of(mine)]
    assert (listed[1].agent, listed[1].network) == ("A browser/1.0", "192.0.2.1")
    assert refused == [False] * 5
    assert ended
    assert await sessions.account(mine) is None
    assert await sessions.account(other) is not None
    assert await sessions.account(hers) is not None


@ON_SQLITE
async def test_a_handle_is_not_what_a_browser_holds(sessions: Sessions) -> None:
    token = await sessions.start(1, HASH)

    assert await sessions.account(handle_of(token)) is None
    assert len(handle_of(token)) == 16
    assert handle_of(token) not in token


async def test_a_password_proves_its_owner_for_a_quarter_of_an_hour(
    sessions: Sessions, clock: SetClock
) -> None:
    token = await sessions.start(1, HASH)
    clock.now = START + PROOF - SECOND
    early = await sessions.is_proven(token)
    clock.now = START + PROOF
    late = await sessions.is_proven(token)

    renewed = await sessions.prove(token)
    clock.now += PROOF - SECOND

    assert (early, late, renewed) == (True, False, True)
    assert await sessions.is_proven(token)
    await sessions.end(token)
    assert not await sessions.prove(token)
    assert not await sessions.is_proven(token)
