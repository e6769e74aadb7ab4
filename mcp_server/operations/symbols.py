"""Symbols as a caller sends them: their spelling, whether they are known, and what may be meant."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from mcp_server.calls.errors import ApiError
from mcp_server.operations.services import Services
from store.nights.book import Book

SYMBOL_PATTERN = re.compile(r"[A-Za-z0-9.]{1,24}")

LOOKED_UP = 20
"""Most symbols of one refusal whose nearest known ones are looked up."""


def check_symbols(raw: Sequence[str]) -> list[str]:
    """Upper-case the symbols and drop repeats, keeping the order.

    Raises:
        ApiError: `invalid_symbol`, listing each symbol that is not letters, digits and dots.
    """
    given = dict.fromkeys(symbol.strip() for symbol in raw)
    rejected = [symbol[:64] for symbol in given if not SYMBOL_PATTERN.fullmatch(symbol)]
    if rejected:
        raise ApiError("invalid_symbol", details={"rejected": rejected})
    return list(dict.fromkeys(symbol.upper() for symbol in given))


def check_some(raw: Sequence[str]) -> list[str]:
    """At least one symbol, checked as `check_symbols` does.

    Raises:
        ApiError: `bad_request` if there is none, `invalid_symbol`.
    """
    if not raw:
        raise ApiError("bad_request", "symbols must name at least one symbol.")
    return check_symbols(raw)


def check_edit(add: Sequence[str], remove: Sequence[str]) -> tuple[list[str], list[str]]:
    """Both lists of an edit, checked together as `check_symbols` checks one.

    Raises:
        ApiError: `bad_request` if both are empty, `invalid_symbol` with every bad symbol of both.
    """
    if not add and not remove:
        raise ApiError("bad_request", "add or remove must name at least one symbol.")
    symbols = check_symbols([*add, *remove])
    added = {symbol.strip().upper() for symbol in add}
    removed = {symbol.strip().upper() for symbol in remove}
    return [s for s in symbols if s in added], [s for s in symbols if s in removed]


def check_known(book: Book, symbols: Sequence[str], tracked: Sequence[str]) -> None:
    """Refuse symbols that neither the night nor the account's own list knows.

    Raises:
        ApiError: `unknown_symbol`, listing them.
    """
    kept = frozenset(tracked)
    unknown = [s for s in symbols if s not in kept and book.coverage(s) is None]
    if unknown:
        raise ApiError("unknown_symbol", details={"unknown": unknown})


@contextmanager
def suggesting(services: Services, book: Book) -> Iterator[None]:
    """Has a refusal of symbols name the known ones that are nearest to each."""
    try:
        yield
    except ApiError as error:
        details = error.details or {}
        wrong = [*details.get("rejected", ()), *details.get("unknown", ())]
        directory = services.directory(book)
        nearest = {symbol: directory.nearest(symbol) for symbol in wrong[:LOOKED_UP]}
        if any(nearest.values()):
            found = {symbol: near for symbol, near in nearest.items() if near}
            error.details = {**details, "nearest": found}
        raise
