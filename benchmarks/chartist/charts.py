"""Charts: what one picture shows, and where it comes from."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from nightly.bars import Bars, to_date, to_day

Kind: TypeAlias = Literal[
    "rising wedge",
    "falling wedge",
    "symmetrical triangle",
    "ascending triangle",
    "descending triangle",
    "bullish pennant",
    "bearish pennant",
]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True, slots=True)
class Line:
    """A line that is straight in log price over the bar index."""

    start: int
    """The index of its first bar."""
    value: float
    """The natural logarithm of its price there."""
    slope: float
    """Per bar."""

    def at(self, bar: float) -> float:
        """The logarithm of the line's price at a bar."""
        return self.value + self.slope * (bar - self.start)


@dataclass(frozen=True, slots=True, eq=False)
class Chart:
    """Bars up to a last one, two lines over them and the pattern they are claimed to be."""

    by: str
    """Which detector drew the lines, or `random`, or `planted`."""
    symbol: str
    """Empty if the bars were made up."""
    kind: Kind
    bars: Bars
    upper: Line
    lower: Line
    last: int
    """The index of the bar at which the picture is cut."""
    plant: str = ""
    """What was planted, if the bars were made up."""

    @property
    def start(self) -> int:
        """The index of the first bar that either line covers."""
        return min(self.upper.start, self.lower.start)

    def date(self, bar: int) -> dt.date:
        """The date of a bar."""
        return to_date(self.bars.date[bar])


def kind_of(pattern_type: str, direction: str | None) -> Kind:
    """The name of a pattern on a chart; a squeeze is a pennant in its direction.

    Raises:
        ValueError: there is no such kind.
    """
    squeeze = pattern_type == "squeeze_consolidation"
    kind = f"{direction} pennant" if squeeze else pattern_type.replace("_", " ")
    if kind not in KINDS:
        raise ValueError(f"No kind of chart is named {kind!r}.")
    return kind


def charts_of(
    records: Iterable[Mapping[str, Any]], market: Mapping[str, Bars], by: str
) -> list[Chart]:
    """The last version of each first attempt in what `screener detect` wrote.

    Records of symbols that the market lacks, or of days that it has no bar of, are left out.
    """
    newest: dict[str, Mapping[str, Any]] = {}
    for record in records:
        if record["attempt"] == 1 and record["symbol"] in market:
            newest[record["lineage"]] = record
    charts = (_chart(record, market[record["symbol"]], by) for record in newest.values())
    return [chart for chart in charts if chart is not None]


def _chart(record: Mapping[str, Any], bars: Bars, by: str) -> Chart | None:
    last = _bar(bars, record["last_served"])
    upper, lower = _line(bars, record["upper"]), _line(bars, record["lower"])
    if last is None or upper is None or lower is None:
        return None
    kind = kind_of(record["pattern_type"], record["direction"])
    return Chart(by, record["symbol"], kind, bars, upper, lower, last)


def _line(bars: Bars, ends: Mapping[str, Any]) -> Line | None:
    start, end = (_bar(bars, ends[name]["date"]) for name in ("start", "end"))
    if start is None or end is None or start >= end:
        return None
    first, final = (math.log(ends[name]["price"]) for name in ("start", "end"))
    return Line(start, first, (final - first) / (end - start))


def _bar(bars: Bars, date: str) -> int | None:
    """The index of the bar of a date."""
    day = to_day(dt.date.fromisoformat(date))
    index = int(np.searchsorted(bars.date, day))
    return index if index < len(bars) and bars.date[index] == day else None
