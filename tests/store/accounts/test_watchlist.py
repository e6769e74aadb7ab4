"""The watchlist: the tracked tickers in the user's order, changed completely or not at all."""

from __future__ import annotations

from collections.abc import Sequence

import anyio
import pytest

from store.accounts.accounts import AccountPlan, Accounts
from store.accounts.watchlist import Watchlist
from store.database.database import Database


@pytest.fixture
async def watchlist(database: Database) -> Watchlist:
    await Accounts(database).add("ada@example.com", AccountPlan.PREMIUM)
    return Watchlist(database)


async def test_symbols_come_back_in_the_order_they_were_given(watchlist: Watchlist) -> None:
    edited = await watchlist.change(1, lambda _: ["MSFT", "AAPL", "IBM"])

    assert edited == ([], ["MSFT", "AAPL", "IBM"])
    assert await watchlist.symbols(1) == ["MSFT", "AAPL", "IBM"]


async def test_a_change_that_is_refused_changes_nothing(watchlist: Watchlist) -> None:
    def refuse(_: Sequence[str]) -> Sequence[str]:
        raise LookupError

    await watchlist.change(1, lambda _: ["MSFT"])

    with pytest.raises(LookupError):
        await watchlist.change(1, refuse)

    assert await watchlist.symbols(1) == ["MSFT"]


async def test_edits_at_the_same_time_are_all_kept(watchlist: Watchlist) -> None:
    async def add(symbol: str) -> None:
        await watchlist.change(1, lambda own: [*own, symbol])

    async with anyio.create_task_group() as group:
        for number in range(20):
            group.start_soon(add, f"S{number}")

    assert sorted(await watchlist.symbols(1)) == sorted(f"S{number}" for number in range(20))
