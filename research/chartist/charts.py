"""Charts: what one picture shows, which of many are drawn, and the numbers of their lines."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from research.chartist.shapes import shape_at
from screener.nightly.bars import Bars, to_date, to_day
from screener.nightly.detector.events import VERSION, PatternType, Rows, Scale

TYPES: dict[str, PatternType] = {
    "rising wedge": PatternType.RISING_WEDGE,
    "falling wedge": PatternType.FALLING_WEDGE,
    "symmetrical triangle": PatternType.SYMMETRICAL_TRIANGLE,
    "ascending triangle": PatternType.ASCENDING_TRIANGLE,
    "descending triangle": PatternType.DESCENDING_TRIANGLE,
    "bullish pennant": PatternType.BULLISH_SQUEEZE,
    "bearish pennant": PatternType.BEARISH_SQUEEZE,
}
"""The names of patterns on charts."""
KINDS = tuple(TYPES)
NAMES = {kind: name for name, kind in TYPES.items()}
SQUEEZES = ("bullish pennant", "bearish pennant")


@dataclass(frozen=True, slots=True)
class DrawnLine:
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
    kind: str
    """One of `KINDS`."""
    bars: Bars
    upper: DrawnLine
    lower: DrawnLine
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


def gap_days(symbol: str) -> int:
    """The calendar days between two bars of a symbol from which they are a data gap."""
    return 3 if symbol.endswith(("USD", "USDT")) else 10


def name_of(kind: int) -> str:
    """The name of a pattern type on a chart."""
    return NAMES[PatternType(kind)]


def kind_of(pattern_type: str, direction: str | None) -> str:
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
    last = bar_of(bars, record["last_served"])
    upper, lower = _line(bars, record["upper"]), _line(bars, record["lower"])
    if last is None or upper is None or lower is None:
        return None
    kind = kind_of(record["pattern_type"], record["direction"])
    return Chart(by, record["symbol"], kind, bars, upper, lower, last)


def _line(bars: Bars, ends: Mapping[str, Any]) -> DrawnLine | None:
    start, end = (bar_of(bars, ends[name]["date"]) for name in ("start", "end"))
    if start is None or end is None or start >= end:
        return None
    first, final = (math.log(ends[name]["price"]) for name in ("start", "end"))
    return DrawnLine(start, first, (final - first) / (end - start))


def bar_of(bars: Bars, date: str) -> int | None:
    """The index of the bar of a date."""
    day = to_day(dt.date.fromisoformat(date))
    index = int(np.searchsorted(bars.date, day))
    return index if index < len(bars) and bars.date[index] == day else None


def is_among(chart: Chart, spans: Mapping[str, Sequence[tuple[str, str]]]) -> bool:
    """Whether the pattern of a chart shares a day with a span of its symbol."""
    start, last = (chart.date(bar).isoformat() for bar in (chart.start, chart.last))
    return any(start <= end and last >= begin for begin, end in spans.get(chart.symbol, ()))


def sample(charts: Sequence[Chart], each: int, rng: np.random.Generator) -> list[Chart]:
    """Up to `each` random charts of every kind, no two of one symbol.

    The rarest kinds choose first, so that common ones do not take their symbols.
    """
    groups = {kind: [chart for chart in charts if chart.kind == kind] for kind in KINDS}
    taken: set[str] = set()
    chosen: list[Chart] = []
    for group in sorted(groups.values(), key=lambda group: len({one.symbol for one in group})):
        picked = _spread(group, each, taken, rng)
        taken |= {chart.symbol for chart in picked}
        chosen += picked
    return chosen


def _spread(
    group: Sequence[Chart], each: int, taken: set[str], rng: np.random.Generator
) -> list[Chart]:
    """Random charts of as many symbols, none of them taken."""
    picked: dict[str, Chart] = {}
    for index in rng.permutation(len(group)):
        chart = group[index]
        if len(picked) < each and chart.symbol not in taken:
            picked.setdefault(chart.symbol, chart)
    return list(picked.values())


BEFORE = 200
"""Bars before a pattern that its shape can depend on: those of a run-in or a pole, and the ATR."""
DIGITS = 5


def shape_of(chart: Chart) -> dict[str, float] | None:
    """The numbers that the judgement weighs, rounded; None if the lines meet before the last bar.

    They are ratios and counts, from which no price can be told, so they may be kept with ratings.
    """
    first = max(0, chart.start - BEFORE)
    bars = chart.bars.take(slice(first, chart.last + 1))
    shape = shape_at(bars, version_of(chart, first), chart.last - first)
    if not np.isfinite(shape).all():
        return None
    return {name: round(value, DIGITS) for name, value in shape._asdict().items()}


def version_of(chart: Chart, first: int) -> Rows:
    """The lines of a chart as a version of the detector, with bars counted from the first one."""
    version = np.zeros(1, VERSION)
    version["type"] = TYPES[chart.kind]
    version["scale"] = Scale.SHORT if chart.kind in SQUEEZES else Scale.LONG
    for side, line in (("upper", chart.upper), ("lower", chart.lower)):
        version[f"{side}_start"] = line.start - first
        version[f"{side}_value"] = line.value
        version[f"{side}_slope"] = line.slope
    record: Rows = version[0]
    return record
