"""Research: every version that a walk served, as plain values, for studies outside the service."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from screener.nightly.analysis import Task, cleaned_symbols
from screener.nightly.bars import Bars, to_date
from screener.nightly.cleaning.gates import MIN_BARS, gap_days
from screener.nightly.detector.detector import walk_on
from screener.nightly.detector.events import EndReason, EventLog, Rows
from screener.nightly.errors import RefusedInput
from screener.nightly.results.history import Lineages
from screener.nightly.results.views import (
    TradeView,
    direction_name,
    family_of_type,
    line_point,
    pattern_start,
    type_name,
)

Value = Any


@dataclass(frozen=True, slots=True)
class ServedVersions:
    """The versions of some symbols, and why there are none of others."""

    versions: Sequence[Mapping[str, Value]]
    refused: Mapping[str, RefusedInput]
    """By symbol: why it has no usable bar."""


def versions(task: Task) -> ServedVersions:
    """One record for each version of a task's symbols; runs in a worker."""
    records: list[dict[str, Value]] = []
    refused: dict[str, RefusedInput] = {}
    for listing, _, cleaned in cleaned_symbols(task):
        for number, series in enumerate(cleaned.series, 1):
            walk = walk_on(None, series, task.parameters, gap_days=gap_days(listing.calendar))
            current = cleaned.covered and number == len(cleaned.series)
            each = _records(listing.symbol, series.bars, walk.log, task.parameters.detector)
            records += [record if current else {**record, "status": None} for record in each]
        if cleaned.refusal and max(map(len, cleaned.series), default=0) < MIN_BARS:
            refused[listing.symbol] = cleaned.refusal
    return ServedVersions(records, refused)


def _records(symbol: str, bars: Bars, log: EventLog, detector: int) -> Iterator[dict[str, Value]]:
    lineages = Lineages(symbol, bars, log)
    trades = {int(trade["version"]): trade for trade in log.trades}
    for row, version in enumerate(log.versions):
        trade = _trade(TradeView.over(bars, trades[row]) if row in trades else None)
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
    kind = int(version["type"])
    return {
        "family": family_of_type(kind).value,
        "pattern_type": type_name(kind),
        "direction": direction_name(int(version["direction"])),
        "attempt": int(version["attempt"]),
        "quality": round(float(version["quality"]), 4),
        "first_served": to_date(bars.date[version["first_served"]]),
        "last_served": to_date(bars.date[last]),
        "end_reason": None if forming else reason.name.lower(),
        "pattern_start": to_date(bars.date[pattern_start(version)]),
        "pattern_end": to_date(bars.date[last]),
        "upper": _line(bars, version, 0, int(version["upper_start"]), last),
        "lower": _line(bars, version, 1, int(version["lower_start"]), last),
    }


def _line(bars: Bars, version: Rows, side: int, start: int, end: int) -> dict[str, Value]:
    ends = (("start", start), ("end", end))
    return {name: dict(line_point(bars, version, side, bar)) for name, bar in ends}


def _trade(view: TradeView | None) -> dict[str, Value]:
    names = ("entry_price", "stop_price", "target_price", "outcome", "exit_date", "exit_price")
    return {
        "trigger_date": view and view.entry_date,
        **{name: view and getattr(view, name) for name in names},
    }
