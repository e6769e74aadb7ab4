"""The watchlist of an account: its tracked tickers are read and changed here, whoever asks.

A change is one transaction. It is decided on the list as it is then, which nobody else changes
meanwhile, and what refuses it leaves the list as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from anyio.lowlevel import checkpoint

from mcp_server.calls.errors import ApiError
from mcp_server.filters.directory import Directory
from mcp_server.filters.symbol_lists import meanings, read_list
from mcp_server.operations.access import cap_of, check_cap
from mcp_server.operations.services import Services
from mcp_server.operations.symbols import LOOKED_UP, SHOWN, check_symbols, suggesting
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


async def replace_list(
    symbols: Sequence[str],
    account: Account,
    book: Book,
    services: Services,
    guard: Guard = unguarded,
) -> Edited:
    """Replace the whole list by symbols as they were sent.

    Raises:
        ApiError: `invalid_symbol`, `unknown_symbol` or `ticker_cap_exceeded`.
    """
    async with suggesting(services, book):
        after = check_symbols(symbols)
        strange = _strange(after, book)

        def change(before: Sequence[str]) -> Sequence[str]:
            _check_known(strange, before)
            check_cap(account, len(after))
            return after

        return await services.watchlist.change(account.id, guard(change))


async def edit_list(
    added: Sequence[str],
    removed: Sequence[str],
    account: Account,
    book: Book,
    services: Services,
    guard: Guard = unguarded,
) -> Edited:
    """Remove symbols, then append those that are new, as they were sent.

    Raises:
        ApiError: `invalid_symbol`, `unknown_symbol` or `ticker_cap_exceeded`.
    """
    async with suggesting(services, book):
        check_symbols([*added, *removed])  # a refusal names the bad symbols of both
        new, gone = check_symbols(added), frozenset(check_symbols(removed))
        strange = _strange(new, book)

        def change(before: Sequence[str]) -> Sequence[str]:
            _check_known(strange, before)
            kept = [symbol for symbol in before if symbol not in gone]
            after = list(dict.fromkeys([*kept, *new]))
            check_cap(account, len(after), len(kept))
            return after

        return await services.watchlist.change(account.id, guard(change))


async def move_ticker(symbol: str, steps: int, account: Account, services: Services) -> Edited:
    """Move a ticker down the list, or up if `steps` is negative, at most to either end."""

    def change(before: Sequence[str]) -> Sequence[str]:
        if symbol not in before:
            return before
        after = [other for other in before if other != symbol]
        after.insert(max(0, before.index(symbol) + steps), symbol)
        return after

    return await services.watchlist.change(account.id, change)


class Imported(NamedTuple):
    """What became of a list of another program."""

    edited: Edited
    unknown: Mapping[str, Sequence[str]]
    """What means no symbol, as it stands there, and the known symbols that are nearest."""
    over_cap: Sequence[str]
    """What is known, and was not added for want of room."""


async def import_list(
    text: str,
    account: Account,
    book: Book,
    directory: Directory,
    watchlist: Watchlist,
    guard: Guard = unguarded,
) -> Imported:
    """Append to an account's list what a text names, as far as it is known and there is room.

    Raises:
        ApiError: `bad_request`; the text names no symbol, or too many.
    """
    listed = dict[str, Sequence[str]]()
    for one in read_list(text):
        listed[one] = meanings(one, directory)
        await checkpoint()  # others go on in between
    strange = frozenset(_strange({symbol for found in listed.values() for symbol in found}, book))

    def known(own: Collection[str]) -> Mapping[str, str | None]:
        """The symbol that each certainly means, on this list or in the night."""
        return {
            one: next((symbol for symbol in found if symbol in own or symbol not in strange), None)
            for one, found in listed.items()
        }

    def change(before: Sequence[str]) -> Sequence[str]:
        new = [symbol for symbol in dict.fromkeys(known(before).values()) if symbol]
        after = dict.fromkeys([*before, *new])
        return list(after)[: max(cap_of(account), len(before))]

    edited = await watchlist.change(account.id, guard(change))
    means = known(edited.before)
    unknown = dict[str, Sequence[str]]()
    for one in (one for one, symbol in means.items() if symbol is None):
        unknown[one[:SHOWN]] = directory.nearest(one) if len(unknown) < LOOKED_UP else ()
        await checkpoint()
    found = dict.fromkeys(symbol for symbol in means.values() if symbol)
    return Imported(edited, unknown, [symbol for symbol in found if symbol not in edited.after])


def _strange(symbols: Collection[str], book: Book) -> Sequence[str]:
    """The symbols that a night does not know."""
    return [symbol for symbol in symbols if book.coverage(symbol) is None]


def _check_known(strange: Sequence[str], own: Sequence[str]) -> None:
    """Refuse symbols that neither the night nor the account's own list knows.

    Raises:
        ApiError: `unknown_symbol`, listing them.
    """
    unknown = [symbol for symbol in strange if symbol not in own]
    if unknown:
        raise ApiError("unknown_symbol", details={"unknown": unknown})
