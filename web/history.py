"""History: what became of a ticker's earlier patterns, its records, and how its trades ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from store.nights.book import Book
from store.wire.method import Distribution
from web.histogram import Histogram

PAGE = 100
"""Occurrences on one page."""

Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class History:
    """One page of a ticker's history, newest entry first, and what all of it amounts to."""

    rows: Rows
    """Each a HistoryRow."""
    total: int
    page: int
    """From 1."""
    pages: int
    histogram: Histogram | None
    """Of all resolved trades; None without one."""
    records: Rows
    """Each a TrackRecord of the ticker."""
    available: bool
    """Whether the night holds a history of it."""

    @classmethod
    def of(cls, book: Book, symbol: str, page: int) -> History:
        """A page of a symbol's history, one that there is."""
        stored = book.history(symbol)
        rows = [orjson.loads(row) for row in stored.rows] if stored else []
        results = [row["r_multiple"] for row in rows if row["r_multiple"] is not None]
        record = book.ticker_record(symbol)
        return cls(
            rows=rows[PAGE * (page - 1) : PAGE * page],
            total=len(rows),
            page=page,
            pages=pages_of(book, symbol),
            histogram=Histogram.of(Distribution.of(results)),
            records=orjson.loads(record)["records"] if record else (),
            available=stored is not None,
        )


def pages_of(book: Book, symbol: str) -> int:
    """How many pages a symbol's history has, at least one."""
    stored = book.history(symbol)
    return max(1, -(-len(stored.rows) // PAGE)) if stored else 1
