"""API keys: how they are made, what they open, and how they end."""

from __future__ import annotations

import asyncio
import datetime as dt

import pytest

from store.accounts.accounts import AccountPlan, Accounts
from store.accounts.audit import Actor
from store.accounts.keys import MAX_KEYS, Keys
from store.database.database import Database
from store.errors import AccountError, TooManyError, TooOftenError
from tests.accounts import rows_of, swept
from tests.clocks import SetClock
from tests.postgres import ON_SQLITE

START = dt.datetime(2026, 5, 4, 12, tzinfo=dt.UTC)
SECOND, HOUR = dt.timedelta(seconds=1), dt.timedelta(hours=1)
OWNER = Actor("owner", "192.0.2.1", "a browser")


@pytest.fixture
async def keys(database: Database, clock: SetClock) -> Keys:
    """Keys of ada's account, by the clock of the test."""
    await Accounts(database).add("Ada@Example.com ", AccountPlan.PREMIUM)
    return Keys(database, clock=clock)


async def test_a_new_key_opens_its_account(keys: Keys) -> None:
    key, secret = await keys.create("ada@example.com", "laptop")

    holder = await keys.principal(secret)

    assert holder is not None
    assert holder.account.email == "ada@example.com"
    assert holder.account.plan is AccountPlan.PREMIUM
    assert holder.key == key
    assert secret.startswith("ps_live_")
    assert secret[:16] == key.prefix


async def test_a_secret_is_nowhere_in_the_database(keys: Keys, database: Database) -> None:
    _, secret = await keys.create("ada@example.com", "laptop")

    rows = str(await rows_of(database))

    assert secret[16:] not in rows
    assert secret[:16] in rows


async def test_a_revoked_key_opens_nothing(keys: Keys) -> None:
    key, secret = await keys.create("ada@example.com", "laptop")

    await keys.revoke(key.prefix)

    assert await keys.principal(secret) is None
    with pytest.raises(AccountError, match="No live key"):
        await keys.revoke(key.prefix)


@ON_SQLITE
@pytest.mark.parametrize("name", ["", "  ", "x" * 101, "a\nb"])
async def test_a_key_needs_a_printable_name(keys: Keys, name: str) -> None:

    with pytest.raises(AccountError, match="printable"):
        await keys.create("ada@example.com", name)


async def test_an_account_revokes_its_own_keys_alone(database: Database) -> None:
    keys = Keys(database)
    ada = await Accounts(database).add("ada@example.com", AccountPlan.PREMIUM)
    eve = await Accounts(database).add("eve@example.com", AccountPlan.PREMIUM)
    key, secret = await keys.create("ada@example.com", "laptop")

    assert not await keys.revoke_own(eve.id, key.prefix)
    assert await keys.principal(secret) is not None
    assert await keys.revoke_own(ada.id, key.prefix)
    assert not await keys.revoke_own(ada.id, key.prefix)
    assert await keys.principal(secret) is None


async def test_a_key_opens_its_account_until_its_end(keys: Keys, clock: SetClock) -> None:
    key, secret = await keys.create("ada@example.com", "laptop", expires_at=START + HOUR)

    clock.now = START + HOUR - SECOND
    before = await keys.principal(secret)
    clock.now = START + HOUR

    assert before is not None
    assert before.key == key
    assert before.expires_at == START + HOUR
    assert await keys.principal(secret) is None


async def test_a_replaced_key_keeps_its_end_and_its_rights(keys: Keys, clock: SetClock) -> None:
    end = START + HOUR
    old, killed = await keys.create("ada@example.com", "laptop", expires_at=end, read_only=True)

    new, secret = await keys.replace(old.prefix)

    assert (new.name, new.expires_at, new.read_only) == ("laptop", end, True)
    assert await keys.principal(killed) is None
    holder = await keys.principal(secret)
    assert holder is not None
    assert holder.key == new
    clock.now = START + HOUR
    assert await keys.principal(secret) is None
    with pytest.raises(AccountError, match="expired"):
        await keys.replace(new.prefix)


@ON_SQLITE
@pytest.mark.parametrize("end", [START, START - SECOND])
async def test_a_key_does_not_end_before_it_begins(keys: Keys, end: dt.datetime) -> None:
    with pytest.raises(AccountError, match="future"):
        await keys.create("ada@example.com", "laptop", expires_at=end)
    assert await keys.of_account("ada@example.com") == []


async def test_keys_that_have_ended_leave_room_for_others(keys: Keys, clock: SetClock) -> None:
    for number in range(MAX_KEYS):
        await keys.create("ada@example.com", f"{number}", expires_at=START + (number + 1) * HOUR)
    with pytest.raises(TooManyError, match="50 live keys"):
        await keys.create("ada@example.com", "one more")

    clock.now = START + HOUR
    await keys.create("ada@example.com", "one more")

    with pytest.raises(TooManyError):
        await keys.create("ada@example.com", "yet another")


async def make(keys: Keys, actor: Actor = OWNER) -> bool:
    """Try to make a key, three of which an owner may make within an hour."""
    try:
        await keys.create("ada@example.com", "laptop", per_hour=3, actor=actor)
    except TooOftenError:
        return False
    return True


async def test_an_owner_makes_so_many_keys_within_an_hour_however_they_end(
    keys: Keys, clock: SetClock, database: Database
) -> None:
    made = []
    for minutes in (0, 10, 20, 30):
        clock.now = START + dt.timedelta(minutes=minutes)
        made.append(await make(keys))
        for key in await keys.of_account("ada@example.com"):
            if key.revoked_at is None:
                await keys.revoke(key.prefix)
    restarted = Keys(database, clock=clock)
    clock.now = START + dt.timedelta(minutes=59)
    with pytest.raises(TooOftenError) as refused:
        await restarted.create("ada@example.com", "laptop", per_hour=3, actor=OWNER)
    clock.now = START + HOUR

    assert made == [True, True, True, False]
    assert refused.value.wait == 60
    assert [await make(restarted), await make(restarted)] == [True, False]


async def test_the_keys_of_the_operator_and_of_others_do_not_count_for_the_owner_s_pace(
    keys: Keys, database: Database
) -> None:
    await Accounts(database).add("eve@example.com", AccountPlan.PREMIUM)
    for _ in range(3):
        await keys.create("ada@example.com", "by the operator")
        await keys.create("eve@example.com", "hers", actor=OWNER)

    assert [await make(keys) for _ in range(4)] == [True, True, True, False]


async def test_what_is_dated_to_the_future_does_not_count(keys: Keys, clock: SetClock) -> None:
    clock.now = START + 48 * HOUR
    assert [await make(keys) for _ in range(3)] == [True] * 3
    clock.now = START

    assert [await make(keys) for _ in range(4)] == [True, True, True, False]
    with pytest.raises(TooOftenError) as refused:
        await keys.create("ada@example.com", "laptop", per_hour=3, actor=OWNER)
    assert refused.value.wait == 3600


async def test_keys_that_ended_long_ago_are_swept(
    keys: Keys, database: Database, clock: SetClock
) -> None:
    for name, end in (("expired", START), ("revoked", None), ("live", None), ("later", START)):
        expires_at = end and end + (2 * HOUR if name == "later" else HOUR)
        key, _ = await keys.create("ada@example.com", name, expires_at=expires_at)
        if name == "revoked":
            clock.now = START + HOUR
            await keys.revoke(key.prefix)
            clock.now = START

    clock.now = START + HOUR + dt.timedelta(days=10)
    early = await swept(database, clock)
    clock.now += SECOND

    assert (early["keys"], (await swept(database, clock))["keys"]) == (0, 2)
    assert [key.name for key in await keys.of_account("ada@example.com")] == ["live", "later"]


async def test_what_is_held_is_what_was_not_revoked_and_what_is_asked_for(keys: Keys) -> None:
    first, second, third = [(await keys.create("ada@example.com", "key"))[0] for _ in range(3)]
    for one in (first, second):
        await keys.revoke(one.prefix)

    assert await keys.unrevoked(1) == [third]
    held = await keys.unrevoked(1, [second.prefix])
    assert [one.prefix for one in held] == [second.prefix, third.prefix]


async def test_of_simultaneous_new_keys_no_more_are_made_than_may_be(
    keys: Keys, database: Database, clock: SetClock
) -> None:
    other = Database(database.url)
    processes = [keys, Keys(other, clock=clock)]

    made = await asyncio.gather(*(make(processes[number % 2]) for number in range(8)))
    await other.close()

    assert sum(made) == 3
    assert len(await keys.of_account("ada@example.com")) == 3
