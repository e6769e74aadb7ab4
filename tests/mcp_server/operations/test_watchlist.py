"""Changes of a watchlist as every surface makes them: what is added, dropped, moved and refused."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from mcp_server.calls.errors import ApiError
from mcp_server.operations.services import Services
from mcp_server.operations.watchlist import TrackedList, tracked_by
from store.accounts.accounts import Account, AccountPlan, Accounts
from tests.service import services_over


@dataclass
class Desk:
    """The services over a night, and an account that may track 50 tickers."""

    services: Services
    account: Account

    @property
    def own(self) -> TrackedList:
        """The account's list."""
        services, book = self.services, self.services.active_night.book
        return TrackedList(self.account, book, services.directory(book), services.watchlist)

    async def start(self, *symbols: str) -> None:
        """Have the account track some symbols, known or not."""
        await self.services.watchlist.change(self.account.id, lambda _: symbols)

    async def edit(self, added: Sequence[str], removed: Sequence[str]) -> Sequence[str]:
        changed = await self.own.edit(added, removed)
        assert await tracked_by(self.account, self.services) == changed.after
        return changed.after


@pytest.fixture
async def desk(data_dir: Path) -> AsyncIterator[Desk]:
    async with services_over(data_dir) as (services, database):
        account = await Accounts(database).add("ada@example.com", AccountPlan.PREMIUM)
        await services.active_night.poll()
        yield Desk(services, account)


async def test_a_list_over_the_cap_may_shrink_but_not_grow(desk: Desk) -> None:
    many = [f"X{number}" for number in range(52)]
    await desk.start(*many)

    assert await desk.edit([], ["X51"]) == many[:51]
    assert await desk.edit(["AAPL"], ["X49", "X50"]) == [*many[:49], "AAPL"]
    with pytest.raises(ApiError, match="51 symbols exceed the cap of 50"):
        await desk.edit(["IBM"], [])
    assert await tracked_by(desk.account, desk.services) == [*many[:49], "AAPL"]


async def test_an_unknown_symbol_is_taken_only_if_it_is_on_the_list(desk: Desk) -> None:
    await desk.start("GONE", "AAPL")
    again = await desk.own.replace(["IBM", "GONE"])

    with pytest.raises(ApiError) as refused:
        await desk.own.replace(["GONE", "GOGO"])

    assert again == (["GONE", "AAPL"], ["IBM", "GONE"])
    assert refused.value.code == "unknown_symbol"
    assert refused.value.details == {"unknown": ["GOGO"], "nearest": {"GOGO": ["GOOG"]}}


@pytest.mark.parametrize(
    ("symbol", "steps", "after"),
    [
        ("AAPL", -1, ["AAPL", "MSFT", "IBM"]),
        ("AAPL", 1, ["MSFT", "IBM", "AAPL"]),
        ("MSFT", -1, ["MSFT", "AAPL", "IBM"]),
        ("IBM", -9, ["IBM", "MSFT", "AAPL"]),
        ("GOOG", 1, ["MSFT", "AAPL", "IBM"]),
    ],
)
async def test_a_symbol_moves_no_further_than_the_ends(
    desk: Desk, symbol: str, steps: int, after: list[str]
) -> None:
    await desk.start("MSFT", "AAPL", "IBM")

    moved = await desk.own.move(symbol, steps)

    assert moved.after == await tracked_by(desk.account, desk.services) == after


async def test_an_import_knows_the_night_and_the_list_and_reads_the_list_once(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    await desk.start("GONE.X")
    monkeypatch.delattr(type(desk.services.watchlist), "symbols")  # only the change itself reads it

    done = await desk.own.import_text("GONE-X,NASDAQ:AAPL,GOGO")

    assert done.edited == (["GONE.X"], ["GONE.X", "AAPL"])
    assert done.unknown == {"GOGO": ["GOOG"]}
    assert done.over_cap == []


async def test_what_stands_before_an_unknown_symbol_names_no_other(desk: Desk) -> None:
    done = await desk.own.import_text("MICROSOFT:AALP")

    assert done.unknown == {"MICROSOFT:AALP": ["AAPL"]}
