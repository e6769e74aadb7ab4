"""A market of 300 setups with known evidence: the sample's setups repeated with other numbers.

Only the numbers are made up; the book is written, checked, sealed and published like any other.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import orjson

from mcp_server.filters.kinds import KINDS
from store.ledger.manifest import Inputs
from store.nights.book import Book, Prices, StoredSetup
from store.nights.nights import Nights
from store.nights.publish import BookWriter
from store.wire.families import Family, family_of
from store.wire.records import Attempt, FamilyEntry, Patterns, ScanSetup, Setup
from tests.service import Service

ROWS = 300
HISTORY_ROWS = 150
QUIET = ("QUIET", *(f"Q{number}" for number in range(1, 121)))
"""Covered symbols without a setup."""
SESSION = dt.date(2012, 10, 3)
SHAPES = (
    ("rising_wedge", "bearish"),
    ("falling_wedge", "bullish"),
    ("squeeze_consolidation", "bullish"),
    ("squeeze_consolidation", "bearish"),
    ("symmetrical_triangle", "bullish"),
    ("descending_triangle", "bearish"),
)
OF_ROW = {
    "dist_to_entry": "distance_to_trigger_pct",
    "typical_return": "expected_gain_pct",
    "price": "last_close",
}
"""The field of a scan row that shows each piece of evidence."""


@dataclass(frozen=True)
class Market:
    """A live service, the rows of its scan, best rank first, and the evidence behind each."""

    service: Service
    client: httpx.Client
    rows: Sequence[Mapping[str, Any]]
    numbers: Mapping[str, Sequence[float | None]]
    labels: Mapping[str, Sequence[str | None]]

    def scan(self, **parameters: Any) -> httpx.Response:
        """One scan; `filters` may be given as predicates."""
        if isinstance(parameters.get("filters"), list):
            parameters["filters"] = orjson.dumps(parameters["filters"]).decode()
        return self.client.get("/scan", params=parameters)

    def page(self, **parameters: Any) -> Any:
        """One page of the scan."""
        return self.scan(**parameters).raise_for_status().json()

    def ranks(self, **parameters: Any) -> list[int]:
        """The ranks of every match, page after page."""
        found: list[int] = []
        while True:
            page = self.page(limit=200, offset=len(found), **parameters)
            found += [row["rank"] for row in page["setups"]]
            if len(found) >= page["count"]:
                return found


def active_book(folder: Path) -> Book:
    """The active book of a data folder."""
    nights = Nights(folder)
    manifest = nights.check_active()
    return Book.open(nights.folder / manifest.book.file, manifest)


def setups_of(book: Book) -> Iterator[tuple[StoredSetup, Prices]]:
    """Every setup of a book with the bars of its chart."""
    for symbol, setup_id in sorted((view.symbol, view.setup_id) for view in book.scan.rows):
        setup, prices = book.setup(symbol, setup_id), book.kept_prices(symbol)
        assert setup is not None
        assert prices is not None
        yield setup, prices


def evidence_of(
    folder: Path,
) -> tuple[dict[str, list[float | None]], dict[str, list[str | None]]]:
    """The evidence columns of the active book as lists, with None for missing evidence."""
    book = active_book(folder)
    evidence = book.evidence
    numbers = {
        name: [None if np.isnan(value) else float(value) for value in column]
        for name, column in evidence.numbers.items()
    }
    labels = {}
    for name, column in evidence.labels.items():
        words = {code: word for word, code in column.labels.items()}
        labels[name] = [words.get(int(code)) for code in column.codes]
    book.close()
    return numbers, labels


def write_market(sample: Path, folder: Path) -> None:
    """Seal the market in a data folder, made from the sample night in another."""
    book = active_book(sample)
    stored = [ScanSetup.model_validate_json(body) for body in book.evidence.bodies.at(range(5))]
    rows = [_row(rank, stored[rank % 5]) for rank in range(1, ROWS + 1)]
    inputs = Inputs(
        bars="market",
        bars_sha256="0" * 64,
        reference_sha256=None,
        parameters={},
        code_version="1",
    )
    writer = BookWriter(
        Nights(folder),
        session=SESSION,
        source="A market made for tests",
        disclaimer="Made for tests, not advice.",
        inputs=inputs,
    )
    with writer:
        _write_symbols(writer, rows, book)
        writer.add_scan(rows)
        for name, values in _numbers(rows):
            writer.add_numbers(name, values)
        for name, labels in _labels(rows).items():
            writer.add_labels(name, labels)
        for family in Family:
            entry = FamilyEntry.model_validate_json(book.family(family))
            if family is Family.TRIANGLE:
                entry = entry.model_copy(update={"track_record": None})
            writer.add_family(entry)
        writer.add_universe([{"symbol": row.symbol} for row in rows])
        writer.publish(0)
    book.close()


def _row(rank: int, row: ScanSetup) -> ScanSetup:
    pattern_type, direction = SHAPES[rank % len(SHAPES)]
    family = family_of(pattern_type, direction)  # type: ignore[arg-type]
    record = row.track_record.family
    sides = record.by_direction if record else None
    shown = getattr(sides, direction) if sides else record
    return row.model_copy(
        update={
            "setup_id": f"setup{rank}",
            "lineage_id": f"lineage{rank}",
            "symbol": f"M{rank}",
            "family": family,
            "family_label": family.label,
            "pattern_type": pattern_type,
            "direction": direction,
            "status": "in_progress" if rank % 5 == 0 else "forming",
            "plans": [row.plans[0].model_copy(update={"direction": direction})],
            "rank": rank,
            "last_close": 10.0 + rank * 7 % 40,
            "expected_gain_pct": 40.0 - rank // 10,
            "win_rate_pct": shown.win_rate_pct if shown else None,
            "win_rate_trades": shown.sample_size if shown else 0,
            "attempt": Attempt(number=2, count=2) if rank % 10 == 0 else row.attempt,
            "distance_to_trigger_pct": rank * 13 % 41 / 4,
        }
    )


def _write_symbols(writer: BookWriter, rows: Sequence[ScanSetup], sample: Book) -> None:
    # These symbols keep no prices, so that their setups cannot be drawn.
    for row in rows:
        setup = Setup(**{name: getattr(row, name) for name in Setup.model_fields})
        writer.add_symbol(row.symbol, covered=True, reason=None)
        writer.add_patterns(Patterns(symbol=row.symbol, available=True, setups=[setup]))
        writer.add_setup(setup, {})
    for symbol in QUIET:
        writer.add_symbol(symbol, covered=True, reason=None)
        writer.add_patterns(Patterns(symbol=symbol, available=True, setups=[]))
    writer.add_symbol("SHORT", covered=False, reason="too_short")
    writer.add_patterns(Patterns(symbol="SHORT", available=False, reason="not_covered", setups=[]))
    history = sample.history("MSFT")
    assert history is not None
    times = range(HISTORY_ROWS // len(history.rows) + 1)
    pairs = [(o, r) for _ in times for o, r in zip(history.outcomes, history.rows, strict=True)]
    pairs = sorted(pairs[:HISTORY_ROWS], key=lambda p: str(orjson.loads(p[1])["entry_date"]))[::-1]
    writer.add_history("M1", "".join(o for o, _ in pairs), [row for _, row in pairs])


def _numbers(rows: Sequence[ScanSetup]) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    random = np.random.default_rng(20121003)
    for kind in KINDS.values():
        for period in kind.periods or (None,):
            if kind.takes == "choice":
                continue
            high = 2 if kind.takes == "boolean" else 41
            values = random.integers(0, high, len(rows)) * (1.0 if high == 2 else 0.25) - (
                0 if high == 2 else 5
            )
            values[random.random(len(rows)) < 0.1] = np.nan
            if kind.name in OF_ROW:
                values = np.array([getattr(row, OF_ROW[kind.name]) for row in rows])
            yield kind.column(period), values


def _labels(rows: Sequence[ScanSetup]) -> dict[str, list[str | None]]:
    phases = {"in_progress": ("confirmed", "confirmed"), "forming": ("forming", "armed")}
    labels: dict[str, list[str | None]] = {
        "family": [row.family for row in rows],
        "status": [row.status for row in rows],
        "direction": [row.direction for row in rows],
        "phase": [phases[row.status][row.rank % 2] for row in rows],
    }
    for step, name in enumerate(("asset_type", "exchange", "industry", "country"), 1):
        # No row has the last choice: a filter for it must not match rows without evidence.
        choices = (*KINDS[name].choices[:-1], None)
        labels[name] = [choices[row.rank * step % len(choices)] for row in rows]
    return labels
