"""Research: every version that a walk served, as plain values, for studies outside the service."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from nightly.analysis import Task
from nightly.bars import Bars, to_date
from nightly.detector import Parameters, line_values, walk_on
from nightly.doubt import GAP_DAYS, MIN_BARS
from nightly.errors import Refusal
from nightly.events import EndReason, EventLog, Outcome, Rows
from nightly.history import OUTCOMES, Lineages
from nightly.numbers import price
from nightly.patterns import FAMILIES, direction_name, family_index, type_name

Value = Any
NO_BARS: Final = Refusal("too_few_bars", "No bar was left after cleaning.")


@dataclass(frozen=True, slots=True)
class Found:
    """The versions of some symbols, and why there are none of others."""

    versions: Sequence[Mapping[str, Value]]
    refused: Mapping[str, Refusal]
    """By symbol: why it has no usable bar."""


def versions(task: Task, parameters: Parameters) -> Found:
    """One record for each version of a task's symbols under these parameters; runs in a worker."""
    task.check_version()
    listings = dict(task.symbols)
    found: list[dict[str, Value]] = []
    refused: dict[str, Refusal] = {}
    for loaded in task.source.load([name for name, _ in task.symbols]):
        listing = listings[loaded.name]
        if loaded.refusal is not None:
            refused[listing.symbol] = loaded.refusal
            continue
        cleaned = task.clean(loaded, listing)
        for number, series in enumerate(cleaned.series, 1):
            walk = walk_on(None, series, parameters, gap_days=GAP_DAYS[listing.asset_type])
            current = cleaned.covered and number == len(cleaned.series)
            records = _records(listing.symbol, series.bars, walk.log, parameters.detector)
            found.extend(record if current else {**record, "status": None} for record in records)
        if max(map(len, cleaned.series), default=0) < MIN_BARS:
            refused[listing.symbol] = cleaned.refusal or NO_BARS
    return Found(found, refused)


def _records(symbol: str, bars: Bars, log: EventLog, detector: int) -> Iterator[dict[str, Value]]:
    lineages = Lineages(symbol, bars, log)
    trades = {int(trade["version"]): trade for trade in log.trades}
    for row, version in enumerate(log.versions):
        trade = _trade(bars, trades.get(row))
        forming = version["end_reason"] == EndReason.FORMING
        running = trade["outcome"] == "open"
        yield {
            "symbol": symbol,
            "detector": detector,
            **_shape(bars, version),
            "lineage": lineages.id(int(version["lineage"])),
            "status": "forming" if forming else "in_progress" if running else None,
            **trade,
        }


def _shape(bars: Bars, version: Rows) -> dict[str, Value]:
    reason = EndReason(int(version["end_reason"]))
    forming = reason is EndReason.FORMING
    last = len(bars) - 1 if forming else int(version["end"]) - 1
    last = max(last, int(version["first_served"]))
    start = min(int(version["upper_start"]), int(version["lower_start"]))
    kind = int(version["type"])
    return {
        "family": FAMILIES[family_index(kind)].value,
        "pattern_type": type_name(kind),
        "direction": direction_name(int(version["direction"])),
        "attempt": int(version["attempt"]),
        "quality": round(float(version["quality"]), 4),
        "first_served": to_date(bars.date[version["first_served"]]),
        "last_served": to_date(bars.date[last]),
        "end_reason": None if forming else reason.name.lower(),
        "pattern_start": to_date(bars.date[start]),
        "pattern_end": to_date(bars.date[last]),
        "upper": _line(bars, version, 0, int(version["upper_start"]), last),
        "lower": _line(bars, version, 1, int(version["lower_start"]), last),
    }


def _line(bars: Bars, version: Rows, side: int, start: int, end: int) -> dict[str, Value]:
    return {
        name: {
            "date": to_date(bars.date[bar]),
            "price": price(math.exp(line_values(version, bar)[side])),
        }
        for name, bar in (("start", start), ("end", end))
    }


TRADE_FIELDS = (
    "trigger_date",
    "entry_price",
    "stop_price",
    "target_price",
    "outcome",
    "exit_date",
    "exit_price",
)


def _trade(bars: Bars, trade: Rows | None) -> dict[str, Value]:
    if trade is None:
        return dict.fromkeys(TRADE_FIELDS)
    over = trade["outcome"] != Outcome.OPEN
    return {
        "trigger_date": to_date(bars.date[trade["entry"]]),
        "entry_price": price(float(trade["entry_price"])),
        "stop_price": price(float(trade["stop_price"])),
        "target_price": price(float(trade["target_price"])),
        "outcome": OUTCOMES[Outcome(int(trade["outcome"]))],
        "exit_date": to_date(bars.date[trade["exit"]]) if over else None,
        "exit_price": price(float(trade["exit_price"])) if over else None,
    }
