"""The watchlist: the tracked tickers in the user's order, changed completely or not at all."""

from __future__ import annotations

import anyio
import pytest

from store.accounts.accounts import AccountPlan, Accounts
from store.accounts.watchlist import OverCapError, Watchlist
from store.database.database import Database
from tests.postgres import ON_SQLITE


@pytest.fixture
async def watchlist(database: Database) -> Watchlist:
    await Accounts(database).add("ada@example.com", AccountPlan.PREMIUM)
    return Watchlist(database)


async def test_symbols_come_back_in_the_order_they_were_given(watchlist: Watchlist) -> None:
    await watchlist.replace(1, ["MSFT", "AAPL", "IBM"], cap=5)

    assert await watchlist.symbols(1) == ["MSFT", "AAPL", "IBM"]


async def test_a_list_over_the_cap_changes_nothing(watchlist: Watchlist) -> None:
    await watchlist.replace(1, ["MSFT"], cap=2)

    with pytest.raises(OverCapError):
        await watchlist.replace(1, ["AAPL", "IBM", "GOOG"], cap=2)

    assert await watchlist.symbols(1) == ["MSFT"]


async def test_removals_come_before_additions(watchlist: Watchlist) -> None:
    await watchlist.replace(1, ["MSFT", "AAPL"], cap=2)

    edited = await watchlist.edit(1, add=["IBM", "AAPL"], remove=["MSFT"], cap=2)

    assert edited.after == ["AAPL", "IBM"]
    assert (edited.added, edited.removed) == (["IBM"], ["MSFT"])


async def test_a_list_over_the_cap_may_shrink_but_not_grow(watchlist: Watchlist) -> None:
    await watchlist.replace(1, ["MSFT", "AAPL", "IBM"], cap=3)

    assert (await watchlist.edit(1, add=[], remove=["IBM"], cap=1)).after == ["MSFT", "AAPL"]
    with pytest.raises(OverCapError):
        await watchlist.edit(1, add=["GOOG"], remove=[], cap=1)
    assert await watchlist.symbols(1) == ["MSFT", "AAPL"]


async def test_edits_at_the_same_time_are_all_kept(watchlist: Watchlist) -> None:
    async def add(symbol: str) -> None:
        await watchlist.edit(1, add=[symbol], remove=[], cap=50)

    async with anyio.create_task_group() as group:
        for number in range(20):
            group.start_soon(add, f"S{number}")

    assert sorted(await watchlist.symbols(1)) == sorted(f"S{number}" for number in range(20))


@ON_SQLITE
@pytest.mark.parametrize(
    ("symbol", "steps", "after"),
    [
        ("AAPL", -1, ["AAPL", "MSFT", "IBM"]),
        ("AAPL", 1, ["MSFT", "IBM", "AAPL"]),
        ("MSFT", -1, ["MSFT", "AAPL", "IBM"]),
        ("IBM", 1, ["MSFT", "AAPL", "IBM"]),
        ("IBM", -9, ["IBM", "MSFT", "AAPL"]),
        ("GOOG", 1, ["MSFT", "AAPL", "IBM"]),
    ],
)
async def test_a_symbol_moves_no_further_than_the_ends(
    watchlist: Watchlist, symbol: str, steps: int, after: list[str]
) -> None:
    await watchlist.replace(1, ["MSFT", "AAPL", "IBM"], cap=5)

    assert await watchlist.move(1, symbol, steps) == after
    assert await watchlist.symbols(1) == after
