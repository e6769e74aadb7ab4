"""The watchlist of an account: its tracked tickers are read and changed here, whoever asks.

A change is one transaction. It is decided on the list as it is then, which nobody else changes
meanwhile, and what refuses it leaves the list as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from anyio.lowlevel import checkpoint

from mcp_server.calls.errors import ApiError
from mcp_server.filters.symbol_lists import meanings, read_list
from mcp_server.filters.symbol_search import LOOKED_UP, SymbolSearch
from mcp_server.operations.access import cap_of, check_cap
from mcp_server.operations.services import Services
from mcp_server.operations.symbols import SHOWN, check_symbols, suggesting
from store.accounts.accounts import Account
from store.accounts.watchlist import Change, Edited, Watchlist
from store.nights.book import Book

Guard = Callable[[Change], Change]
"""Puts checks of the caller's own around a change."""


def unguarded(change: Change) -> Change:
    """A change without further checks."""
    return change


async def tracked_by(account: Account | None, services: Services) -> Sequence[str]:
    """The tickers that an account tracks, as they are now; none without an account."""
    return () if account is None else await services.watchlist.symbols(account.id)


class Imported(NamedTuple):
    """What became of a list of another program."""

    edited: Edited
    unknown: Mapping[str, Sequence[str]]
    """What means no symbol, as it stands there, and the known symbols that are nearest."""
    over_cap: Sequence[str]
    """What is known, and was not added for want of room."""


@dataclass(frozen=True, slots=True)
class TrackedList:
    """The list of an account, and the night that knows the symbols which may be on it."""

    account: Account
    book: Book
    directory: SymbolSearch
    watchlist: Watchlist
    guard: Guard = unguarded

    async def replace(self, symbols: Sequence[str]) -> Edited:
        """Replace the whole list by symbols as they were sent.

        Raises:
            ApiError: `invalid_symbol`, `unknown_symbol` or `ticker_cap_exceeded`.
        """
        async with suggesting(self.directory):
            after = check_symbols(symbols)
            strange = self._strange(after)

            def change(before: Sequence[str]) -> Sequence[str]:
                _check_known(strange, before)
                check_cap(self.account, len(after))
                return after

            return await self._change(change)

    async def edit(self, added: Sequence[str], removed: Sequence[str]) -> Edited:
        """Remove symbols, then append those that are new, as they were sent.

        Raises:
            ApiError: `invalid_symbol`, `unknown_symbol` or `ticker_cap_exceeded`.
        """
        async with suggesting(self.directory):
            check_symbols([*added, *removed])  # a refusal names the bad symbols of both
            new, gone = check_symbols(added), frozenset(check_symbols(removed))
            strange = self._strange(new)

            def change(before: Sequence[str]) -> Sequence[str]:
                _check_known(strange, before)
                kept = [symbol for symbol in before if symbol not in gone]
                after = list(dict.fromkeys([*kept, *new]))
                check_cap(self.account, len(after), len(kept))
                return after

            return await self._change(change)

    async def move(self, symbol: str, steps: int) -> Edited:
        """Move a ticker down the list, or up if `steps` is negative, at most to either end."""

        def change(before: Sequence[str]) -> Sequence[str]:
            if symbol not in before:
                return before
            after = [other for other in before if other != symbol]
            after.insert(max(0, before.index(symbol) + steps), symbol)
            return after

        return await self._change(change)

    async def import_text(self, text: str) -> Imported:
        """Append what a list of another program names, as far as it is known and there is room.

        Raises:
            ApiError: `bad_request`; the text names no symbol, or too many.
        """
        listed = dict[str, Sequence[str]]()
        for one in read_list(text):
            listed[one] = meanings(one, self.directory)
            await checkpoint()  # others go on in between
        strange = {*self._strange({symbol for found in listed.values() for symbol in found})}

        def known(own: Collection[str]) -> Mapping[str, str | None]:
            """The symbol that each certainly means, on this list or in the night."""
            return {
                one: next((each for each in found if each in own or each not in strange), None)
                for one, found in listed.items()
            }

        def change(before: Sequence[str]) -> Sequence[str]:
            after = dict.fromkeys([*before, *filter(None, known(before).values())])
            return list(after)[: max(cap_of(self.account), len(before))]

        edited = await self._change(change)
        means, unknown = known(edited.before), dict[str, Sequence[str]]()
        for one in (one for one, symbol in means.items() if symbol is None):
            ticker = one.rpartition(":")[2]  # an exchange in front is a name of other symbols
            near = self.directory.nearest(ticker) if len(unknown) < LOOKED_UP else ()
            unknown[one[:SHOWN]] = near
            await checkpoint()
        found = dict.fromkeys(filter(None, means.values()))
        return Imported(edited, unknown, [symbol for symbol in found if symbol not in edited.after])

    async def _change(self, change: Change) -> Edited:
        return await self.watchlist.change(self.account.id, self.guard(change))

    def _strange(self, symbols: Collection[str]) -> Sequence[str]:
        """The symbols that the night does not know."""
        return [symbol for symbol in symbols if self.book.coverage(symbol) is None]


def _check_known(strange: Sequence[str], own: Sequence[str]) -> None:
    """Refuse symbols that neither the night nor the account's own list knows.

    Raises:
        ApiError: `unknown_symbol`, listing them.
    """
    unknown = [symbol for symbol in strange if symbol not in own]
    if unknown:
        raise ApiError("unknown_symbol", details={"unknown": unknown})
