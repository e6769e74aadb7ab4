"""Books of tests, by the writer of the product: a small one, and one with changed content.

Only this module knows how a book keeps its records.
"""

from __future__ import annotations

import datetime as dt
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from store.ledger.ledger import NightEntry
from store.ledger.manifest import Inputs, Manifest
from store.nights.book import Prices
from store.nights.nights import Nights
from store.nights.publish import BookWriter
from store.wire.families import Family
from store.wire.records import FamilyEntry, NearestDrawing, Patterns, ScanSetup, Setup, TickerRecord

SESSION = dt.date(2026, 1, 2)


def write(
    nights: Nights,
    *,
    session: dt.date = SESSION,
    symbols: int = 3,
    bars: str = "a",
    accept_fall: bool = False,
    families: int = 5,
    spoil: Callable[[BookWriter], None] = lambda _: None,
    entry: NightEntry | None = None,
    since: str | None = None,
) -> Manifest:
    """Publish a small night."""
    inputs = Inputs(
        bars=bars,
        bars_sha256=f"{symbols}",
        reference_sha256=None,
        parameters={},
        code_version="1",
        since=since,
    )
    writer = BookWriter(
        nights,
        session=session,
        source="test",
        disclaimer="Not advice.",
        inputs=inputs,
        accept_fall=accept_fall,
    )
    with writer:
        for number in range(symbols):
            symbol = f"S{number}"
            writer.add_symbol(symbol, covered=True, reason=None)
            writer.add_patterns(Patterns(symbol=symbol, available=True, setups=[]))
            writer.add_history(symbol, "", [])
        for family in list(Family)[:families]:
            writer.add_family(FamilyEntry(family=family, label=family.label, track_record=None))
        writer.add_universe([])
        spoil(writer)
        return writer.publish(0, entry=entry)


Fields = dict[str, Any]


@dataclass
class Content:
    """What a book holds, as values that a test may change."""

    symbols: dict[str, str | None]
    """Why each symbol is not covered; None for those that are."""
    patterns: dict[str, Fields]
    setups: dict[str, tuple[Fields, Fields]]
    """By id, each with its evidence."""
    histories: dict[str, tuple[str, list[Fields]]]
    """The letters of the outcomes, and the trades, the newest first."""
    records: dict[str, Fields]
    prices: dict[str, Prices]
    nearest: dict[str, Fields]
    scan: list[Fields]
    """By rank, the best one first."""
    evidence: dict[str, npt.NDArray[np.float64] | list[str | None]]
    """The columns that filters match on, by rank: numbers or labels."""
    families: dict[str, Fields]
    universe: list[Fields]
    meta: dict[str, Any]
    """What stands beside the records, such as the report and the changes."""

    def numbers(self, name: str) -> npt.NDArray[np.float64]:
        """A column of numbers."""
        column = self.evidence[name]
        assert isinstance(column, np.ndarray)
        return column


def content_of(path: Path) -> Content:
    """What the book at a path holds."""
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as book:
        meta = dict(book.execute("SELECT name, value FROM meta"))
        universe = orjson.loads(b"{%b}" % meta.pop("universe"))["symbols"]
        select = "SELECT setup_id, body, evidence FROM setups"
        return Content(
            symbols=dict(book.execute("SELECT symbol, reason FROM symbols")),
            patterns=_bodies(book, "symbol, body FROM patterns"),
            setups={
                name: (orjson.loads(body), orjson.loads(evidence))
                for name, body, evidence in book.execute(select)
            },
            histories={
                symbol: (outcomes, [orjson.loads(row) for row in rows.splitlines()])
                for symbol, outcomes, rows in book.execute("SELECT * FROM history")
            },
            records=_bodies(book, "symbol, body FROM ticker_records"),
            prices={
                symbol: Prices.decode(body, bars)
                for symbol, bars, body in book.execute("SELECT * FROM prices")
            },
            nearest=_bodies(book, "symbol, body FROM nearest"),
            scan=list(_bodies(book, "rank, body FROM scan ORDER BY rank").values()),
            evidence={
                name: _column(labels, body)
                for name, labels, body in book.execute("SELECT * FROM evidence ORDER BY rowid")
            },
            families=_bodies(book, "family, body FROM families"),
            universe=universe,
            meta={name: orjson.loads(value) for name, value in meta.items()},
        )


def _bodies(book: sqlite3.Connection, what: str) -> dict[Any, Fields]:
    return {key: orjson.loads(body) for key, body in book.execute(f"SELECT {what}")}


def _column(labels: str | None, body: bytes) -> npt.NDArray[np.float64] | list[str | None]:
    if labels is None:
        return np.frombuffer(body, "<f8").copy()
    words = [*json.loads(labels), None]  # no label is -1
    return [words[code] for code in np.frombuffer(body, "<i2")]


def write_content(content: Content, like: Manifest, folder: Path, session: dt.date) -> Manifest:
    """Publish content in an empty data folder, as the night of a session like another one."""
    meta = dict(content.meta)
    writer = BookWriter(
        Nights(folder),
        session=session,
        source=like.source,
        disclaimer=like.disclaimer,
        inputs=like.inputs,
        upcoming=[dt.date.fromisoformat(day) for day in meta.pop("upcoming", ())],
    )
    with writer:
        _write_symbols(writer, content)
        _write_scan(writer, content)
        for entry in content.families.values():
            writer.add_family(FamilyEntry.model_validate(entry))
        writer.add_universe(content.universe)
        for name, value in meta.items():
            writer.add_meta(name, value)
        return writer.publish(like.counts.resolved)


def _write_symbols(writer: BookWriter, content: Content) -> None:
    for symbol, reason in content.symbols.items():
        writer.add_symbol(symbol, covered=reason is None, reason=reason)
    for patterns in content.patterns.values():
        writer.add_patterns(Patterns.model_validate(patterns))
    for symbol, (outcomes, rows) in content.histories.items():
        writer.add_history(symbol, outcomes, [orjson.dumps(row) for row in rows])
    for record in content.records.values():
        writer.add_ticker_record(TickerRecord.model_validate(record))
    for symbol, prices in content.prices.items():
        writer.add_prices(symbol, prices)
    for symbol, drawing in content.nearest.items():
        writer.add_nearest(symbol, NearestDrawing.model_validate(drawing))


def _write_scan(writer: BookWriter, content: Content) -> None:
    for setup, evidence in content.setups.values():
        writer.add_setup(Setup.model_validate(setup), evidence)
    writer.add_scan([ScanSetup.model_validate(row) for row in content.scan])
    for name, column in content.evidence.items():
        if isinstance(column, list):
            writer.add_labels(name, column)
        else:
            writer.add_numbers(name, column)
