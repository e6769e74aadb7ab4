"""A market of 300 setups with known evidence: the sample's setups repeated with other numbers.

Only the numbers are made up; the book is written, checked, sealed and published like any other.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import orjson

from mcp_server.filters.kinds import KINDS
from store.nights.book import Book, Prices, StoredSetup
from store.nights.nights import Nights
from store.wire.families import Family, family_of
from store.wire.records import Setup
from tests.books import Content, Fields, content_of, write_content
from tests.service import Service

ROWS = 300
MANY = [f"M{number}" for number in range(1, ROWS + 1)]
"""Its symbols with a setup, of which no plan tracks all."""
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


def setup_of(book: Book, symbol: str, setup_id: str) -> tuple[StoredSetup, Prices]:
    """A setup of a book with the bars of its chart."""
    setup, prices = book.setup(symbol, setup_id), book.kept_prices(symbol)
    assert setup is not None
    assert prices is not None
    return setup, prices


def setups_of(book: Book) -> Iterator[tuple[StoredSetup, Prices]]:
    """Every setup of a book with the bars of its chart."""
    for symbol, setup_id in sorted((view.symbol, view.setup_id) for view in book.scan.rows):
        yield setup_of(book, symbol, setup_id)


def evidence_of(
    folder: Path,
) -> tuple[list[Fields], dict[str, list[float | None]], dict[str, list[str | None]]]:
    """The rows of the active book by rank and the evidence behind each: numbers, and labels."""
    with closing(active_book(folder)) as book:
        features = book.features
        rows = [orjson.loads(body) for body in features.bodies]
        numbers = {
            name: [None if np.isnan(value) else float(value) for value in column]
            for name, column in features.numbers.items()
        }
        return rows, numbers, {name: column.words() for name, column in features.labels.items()}


def write_market(sample: Path, folder: Path) -> None:
    """Seal the market in a data folder, made from the sample night in another."""
    nights = Nights(sample)
    like = nights.check_active()
    stored = content_of(nights.folder / like.book.file)
    rows = [_row(rank, stored.scan[rank % 5]) for rank in range(1, ROWS + 1)]
    stored.families[Family.TRIANGLE]["track_record"] = None
    market = Content(
        histories={"M1": _history(*stored.histories["MSFT"])},
        records={},
        prices={},
        nearest={},
        scan=rows,
        evidence=dict(_numbers(rows)) | _labels(rows),
        families=stored.families,
        universe=[{"symbol": row["symbol"]} for row in rows],
        meta={},
        **_symbols(rows),
    )
    told = {"source": "A market made for tests", "disclaimer": "Made for tests, not advice."}
    inputs = like.inputs.model_copy(update={"bars": "market"})
    write_content(market, like.model_copy(update={**told, "inputs": inputs}), folder, SESSION)


def _symbols(rows: Sequence[Fields]) -> Fields:
    """The symbols and what each has; they keep no prices, so that their setups cannot be drawn."""
    setups = {row["symbol"]: {k: row[k] for k in Setup.model_fields if k in row} for row in rows}
    found = {symbol: [setup] for symbol, setup in setups.items()} | {symbol: [] for symbol in QUIET}
    patterns = {s: {"symbol": s, "available": True, "setups": some} for s, some in found.items()}
    short = {"symbol": "SHORT", "available": False, "reason": "not_covered", "setups": []}
    return {
        "symbols": {**dict.fromkeys(found), "SHORT": "too_short"},
        "patterns": {**patterns, "SHORT": short},
        "setups": {setup["setup_id"]: (setup, {}) for setup in setups.values()},
    }


def _history(outcomes: str, rows: Sequence[Fields]) -> tuple[str, list[Fields]]:
    """The trades of a symbol over and over, the newest first."""
    pairs = list(islice(cycle(zip(outcomes, rows, strict=True)), HISTORY_ROWS))
    pairs.sort(key=lambda pair: str(pair[1]["entry_date"]))
    return "".join(o for o, _ in reversed(pairs)), [row for _, row in reversed(pairs)]


def _row(rank: int, row: Fields) -> Fields:
    pattern_type, direction = SHAPES[rank % len(SHAPES)]
    family = family_of(pattern_type, direction)  # type: ignore[arg-type]
    record = row["track_record"]["family"]
    shown = (record["by_direction"] or {}).get(direction, record) if record else None
    return row | {
        "setup_id": f"setup{rank}",
        "lineage_id": f"lineage{rank}",
        "symbol": f"M{rank}",
        "family": family,
        "family_label": family.label,
        "pattern_type": pattern_type,
        "direction": direction,
        "status": "in_progress" if rank % 5 == 0 else "forming",
        "plans": [row["plans"][0] | {"direction": direction}],
        "rank": rank,
        "last_close": 10.0 + rank * 7 % 40,
        "expected_gain_pct": 40.0 - rank // 10,
        "win_rate_pct": shown and shown["win_rate_pct"],
        "win_rate_trades": shown["sample_size"] if shown else 0,
        "attempt": {"number": 2, "count": 2} if rank % 10 == 0 else row["attempt"],
        "distance_to_trigger_pct": rank * 13 % 41 / 4,
    }


def _numbers(rows: Sequence[Fields]) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    random = np.random.default_rng(20121003)
    for kind in KINDS.values():
        for period in kind.periods or (None,):
            if kind.takes == "choice":
                continue
            high, scale, least = (2, 1.0, 0) if kind.takes == "boolean" else (41, 0.25, -5)
            values = random.integers(0, high, len(rows)) * scale + least
            values[random.random(len(rows)) < 0.1] = np.nan
            if kind.name in OF_ROW:
                values = np.array([row[OF_ROW[kind.name]] for row in rows])
            yield kind.column(period), values


def _labels(rows: Sequence[Fields]) -> dict[str, list[str | None]]:
    phases = {"in_progress": ("confirmed", "confirmed"), "forming": ("forming", "armed")}
    labels: dict[str, list[str | None]] = {
        "family": [row["family"] for row in rows],
        "status": [row["status"] for row in rows],
        "direction": [row["direction"] for row in rows],
        "phase": [phases[row["status"]][row["rank"] % 2] for row in rows],
    }
    for step, name in enumerate(("asset_type", "exchange", "industry", "country"), 1):
        # No row has the last choice: a filter for it must not match rows without evidence.
        choices = (*KINDS[name].choices[:-1], None)
        labels[name] = [choices[row["rank"] * step % len(choices)] for row in rows]
    return labels
