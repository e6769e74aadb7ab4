"""Saved screens: what is kept of one, the bounds, and the secret addresses of feeds."""

from __future__ import annotations

import asyncio
import datetime as dt

import pytest

from store.accounts.accounts import Account, AccountPlan, Accounts
from store.accounts.audit import Actor
from store.accounts.screens import FEEDS_PER_HOUR, MAX_QUERY, MAX_SCREENS, Screens
from store.accounts.sessions import PROOF, Sessions
from store.database.database import Database
from store.errors import AccountError, SignedOutError, TooManyError, TooOftenError
from tests.accounts import rows_of
from tests.clocks import SetClock

START = dt.datetime(2026, 5, 4, 12, tzinfo=dt.UTC)
SECOND, WEEK = dt.timedelta(seconds=1), dt.timedelta(days=7)
OWNER = Actor("owner", "192.0.2.1", "a browser")
NEAR, FAR = '{"max_distance_pct":1.0}', '{"max_distance_pct":9.0}'


class House:
    """Two accounts, and a session of the first."""

    def __init__(self, database: Database, clock: SetClock) -> None:
        self.clock = clock
        self.accounts = Accounts(database, clock=clock)
        self.screens = Screens(database, clock=clock)
        self.sessions = Sessions(database, idle=WEEK, lifetime=WEEK, clock=clock)

    async def open(self) -> House:
        self.ada = await self._add("ada@example.com")
        self.eve = await self._add("eve@example.com")
        self.session = await self.sessions.start(self.ada.id, "hash", actor=OWNER)
        return self

    async def _add(self, email: str) -> Account:
        return await self.accounts.add(email, AccountPlan.PREMIUM, "hash")

    async def save(self, name: str, query: str = NEAR, *, tracked_only: bool = False) -> int:
        saved = await self.screens.save(self.ada.id, name, query, tracked_only=tracked_only)
        return saved.id

    async def feed(self, number: int) -> str | None:
        return await self.screens.new_feed(self.ada.id, number, self.session, actor=OWNER)


@pytest.fixture
async def house(database: Database) -> House:
    return await House(database, SetClock(START)).open()


async def test_a_saved_screen_has_its_name_query_and_limit(house: House) -> None:
    number = await house.save("  Near the trigger ", tracked_only=True)

    [saved] = await house.screens.of_account(house.ada.id)

    assert (saved.id, saved.name, saved.query) == (number, "Near the trigger", NEAR)
    assert (saved.tracked_only, saved.created_at, saved.feed_at) == (True, START, None)
    assert await house.screens.of_account(house.eve.id) == []


async def test_saving_the_same_query_again_changes_name_and_limit_and_keeps_the_feed(
    house: House,
) -> None:
    number = await house.save("Near")
    secret = await house.feed(number)

    assert await house.save("Nearer", tracked_only=True) == number

    assert secret is not None
    found = await house.screens.of_feed(secret)
    assert found is not None
    assert (found[0], found[1].name, found[1].tracked_only) == (house.ada, "Nearer", True)


@pytest.mark.parametrize("name", ["", "   ", "x" * 101, "two\nlines", "turned\u202eround"])
async def test_a_name_is_a_line_of_at_most_100_characters(house: House, name: str) -> None:
    with pytest.raises(AccountError, match="1 to 100 printable characters"):
        await house.save(name)


async def test_two_screens_of_an_account_have_two_names(house: House) -> None:
    await house.save("Near")
    with pytest.raises(AccountError, match="another screen of this name"):
        await house.save("Near", FAR)

    await house.screens.save(house.eve.id, "Near", NEAR, tracked_only=False)
    assert [saved.query for saved in await house.screens.of_account(house.ada.id)] == [NEAR]


async def test_a_query_has_a_bound(house: House) -> None:
    await house.save("long", "x" * MAX_QUERY)
    with pytest.raises(AccountError, match="too many conditions"):
        await house.save("longer", "x" * (MAX_QUERY + 1))


async def test_an_account_saves_so_many_screens_however_they_meet(house: House) -> None:
    for number in range(MAX_SCREENS - 1):
        await house.save(f"screen {number}", f"{NEAR}{number}")

    both = await asyncio.gather(
        house.save("one", FAR), house.save("other", FAR + "9"), return_exceptions=True
    )

    assert [type(one) for one in both if not isinstance(one, int)] == [TooManyError]
    assert len(await house.screens.of_account(house.ada.id)) == MAX_SCREENS
    await house.save("renamed", f"{NEAR}0")  # one more name is no more screen


async def test_a_screen_of_somebody_else_is_neither_removed_nor_given_a_feed(house: House) -> None:
    hers = (await house.screens.save(house.eve.id, "Hers", NEAR, tracked_only=False)).id

    assert not await house.screens.remove(house.ada.id, hers, actor=OWNER)
    assert await house.feed(hers) is None
    assert not await house.screens.end_feed(house.ada.id, hers, actor=OWNER)
    [saved] = await house.screens.of_account(house.eve.id)
    assert saved.feed_at is None


async def test_the_secret_of_a_feed_is_nowhere_in_the_database(
    house: House, database: Database
) -> None:
    secret = await house.feed(await house.save("Near"))

    assert secret is not None
    assert secret.startswith("pso_feed_")
    assert len(secret) == 52
    assert secret[9:] not in str(await rows_of(database))


async def test_a_feed_is_at_its_newest_address_alone_and_at_none_after_its_end(
    house: House,
) -> None:
    number = await house.save("Near")
    first, second = await house.feed(number), await house.feed(number)
    assert first is not None
    assert second is not None

    assert await house.screens.of_feed(first) is None
    assert await house.screens.of_feed(second) is not None
    assert await house.screens.end_feed(house.ada.id, number, actor=OWNER)
    assert await house.screens.of_feed(second) is None
    assert not await house.screens.end_feed(house.ada.id, number, actor=OWNER)


async def test_the_feed_of_a_removed_screen_or_an_inactive_account_is_at_no_address(
    house: House,
) -> None:
    number, other = await house.save("Near"), await house.save("Far", FAR)
    removed, kept = await house.feed(number), await house.feed(other)
    assert removed is not None
    assert kept is not None

    assert await house.screens.remove(house.ada.id, number, actor=OWNER)
    assert await house.screens.of_feed(removed) is None
    await house.accounts.set_active("ada@example.com", active=False)
    assert await house.screens.of_feed(kept) is None
    await house.accounts.set_active("ada@example.com", active=True)
    assert await house.screens.of_feed(kept) is not None


async def test_a_feed_is_made_by_a_session_that_was_proven_lately(house: House) -> None:
    number = await house.save("Near")
    house.clock.now += PROOF + SECOND

    with pytest.raises(SignedOutError):
        await house.feed(number)


async def test_an_owner_makes_so_many_addresses_within_an_hour(house: House) -> None:
    number = await house.save("Near")
    for _ in range(FEEDS_PER_HOUR):
        assert await house.feed(number)

    with pytest.raises(TooOftenError):
        await house.feed(number)
