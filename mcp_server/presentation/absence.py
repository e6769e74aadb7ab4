"""Absence: what stands against a symbol that has no setup, in one sentence."""

from __future__ import annotations

from collections.abc import Iterator

import orjson

from store.nights.book import Book
from store.wire.labels import LEFT_OUT, words_of
from store.wire.words import drawing_words, named


def absence(book: Book, symbol: str) -> str:
    """Why a symbol of a night has no setup there: a full sentence; empty if it has one."""
    coverage = book.coverage(symbol)
    if coverage is None:
        return f"This night does not know {symbol}."
    if not coverage.covered:
        code = coverage.reason or "not_covered"
        why = f"This night does not cover {symbol} (rule {code}): {_reason(book, symbol, code)}"
        last = book.last_bars.get(symbol)
        is_told = last is None or last in why or last >= str(book.session)
        return why if is_told else f"{why} Its usable bars end on {last}."
    if book.scan.counts.get(symbol):
        return ""
    nearest = book.nearest(symbol)
    found = f": {drawing_words(nearest)}" if nearest else ""
    if days := list(_open_since(book, symbol)):
        trades = f"{'a trade' if len(days) == 1 else 'trades'} of {named(days)}"
        found += f". Still open, but too old to be listed: {trades}"
        return f"No pattern on {symbol} right now{found}."
    return f"No pattern on {symbol} right now, and no trade in progress{found}."


def _open_since(book: Book, symbol: str) -> Iterator[str]:
    """The days of entry of a symbol's trades that have not ended, newest first."""
    stored = book.history(symbol)
    for trade in stored.having("o").rows if stored else ():
        yield orjson.loads(trade)["entry_date"]


def _reason(book: Book, symbol: str, code: str) -> str:
    """What a rule found that left a symbol out, by the report of the night if it has that."""
    refused = (book.report() or {}).get("refused", {})
    reason: str = refused.get(code, {}).get(symbol) or f"{words_of(code, LEFT_OUT)}."
    first = reason.split()[0]
    return reason[:1].lower() + reason[1:] if first.istitle() else reason
