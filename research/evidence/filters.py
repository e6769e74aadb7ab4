"""The six filters of research/README.md, and the market that one of them compares with.

A filter is a setting in which a pattern is said to work better. Each answers for one breakout from
bars up to the breakout bar: True if the trade passes, False if it fails, None if the series has too
few bars before it, or a volume that is needed is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from math import log
from typing import Final

import numpy as np

from screener.nightly.bars import Bars, Days, Floats

MIN_COUNT: Final = 5
"""Stocks with a return on a day; with fewer the market has no return on it."""

Returns = tuple[Days, Floats]
"""Days, and the simple return from the bar before to that of the day."""


def returns_of(bars: Bars) -> Returns:
    """The daily returns of one series; none across its start."""
    return bars.date[1:], bars.close[1:] / bars.close[:-1] - 1


@dataclass(frozen=True, slots=True, eq=False)
class Index:
    """The log of an equally weighted index at the close of each of its days."""

    days: Days
    level: Floats

    @classmethod
    def of(cls, returns: Iterable[Returns]) -> Index:
        """The index of the returns of some stocks."""
        parts = list(returns)
        every = np.concatenate([days for days, _ in parts]) if parts else np.zeros(0, np.int32)
        moves = np.concatenate([values for _, values in parts]) if parts else np.zeros(0)
        days, place = np.unique(every, return_inverse=True)
        number = np.bincount(place, minlength=len(days))
        enough = number >= MIN_COUNT
        means = np.bincount(place, moves, len(days))[enough] / number[enough]
        return cls(days[enough], np.cumsum(np.log1p(means)))

    def change(self, since: int, until: int) -> float | None:
        """The log change after the close of a day up to that of another; None if the index has
        no day after the first one up to the other, or begins after the first one.
        """
        first, last = np.searchsorted(self.days, [since, until], side="right") - 1
        if first < 0 or last <= first:
            return None
        return float(self.level[last] - self.level[first])


HALF_YEAR: Final = 126
YEAR: Final = 252
"""Both in bars."""
QUIET: Final = 0.8
LOUD: Final = 1.5
VOLUME_BARS: Final = 20
NEAR_HIGH: Final = 0.9
GAP: Final = 0.5
ATR_BARS: Final = 14


@dataclass(frozen=True, slots=True, eq=False)
class Breakout:
    """A trade's breakout bar, its pattern's first bar, and its direction, +1 or -1."""

    bars: Bars
    start: int
    entry: int
    direction: int
    index: Index | None
    """The market to compare with; None for crypto, which it does not hold."""


def is_held_out(symbol: str) -> bool:
    """Whether the filters are tested on a symbol."""
    digest = blake2b(symbol.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % 2 == 1


def with_trend(seen: Breakout) -> bool | None:
    """Price had moved in the trade's direction in the half year before the pattern."""
    first = seen.start - 1 - HALF_YEAR
    if first < 0:
        return None
    close = seen.bars.close
    return seen.direction * log(close[seen.start - 1] / close[first]) > 0


def volume_contracted(seen: Breakout) -> bool | None:
    """Volume was lower in the second half of the pattern than in the first."""
    volume = seen.bars.volume[seen.start : seen.entry]
    half = len(volume) // 2
    if not half or not volume.all():
        return None
    return bool(volume[half:].mean() < QUIET * volume[:half].mean())


def volume_at_breakout(seen: Breakout) -> bool | None:
    """The breakout bar's volume stood out from the bars before it."""
    if seen.entry < VOLUME_BARS:
        return None
    volume = seen.bars.volume[seen.entry - VOLUME_BARS : seen.entry + 1]
    if not volume.all():
        return None
    return bool(volume[-1] >= LOUD * volume[:-1].mean())


def stronger_than_market(seen: Breakout) -> bool | None:
    """The symbol had gained on the market in the trade's direction over half a year."""
    last, first = seen.entry - 1, seen.entry - 1 - HALF_YEAR
    if first < 0 or seen.index is None:
        return None
    bars = seen.bars
    market = seen.index.change(int(bars.date[first]), int(bars.date[last]))
    if market is None:
        return None
    return seen.direction * (log(bars.close[last] / bars.close[first]) - market) > 0


def on_the_side_of_the_high(seen: Breakout) -> bool | None:
    """A bullish trade is near the high of the last year, a bearish one is not."""
    first = seen.entry + 1 - YEAR
    if first < 0:
        return None
    high = seen.bars.high[first : seen.entry + 1].max()
    return bool(seen.bars.close[seen.entry] >= NEAR_HIGH * high) is (seen.direction > 0)


def with_gap(seen: Breakout) -> bool | None:
    """The breakout bar opened with a gap in the trade's direction."""
    bars, last = seen.bars, seen.entry - 1
    if last < ATR_BARS:
        return None
    gap = seen.direction * log(bars.open[seen.entry] / bars.close[last])
    return bool(gap >= GAP * true_ranges(bars, last - ATR_BARS, last).mean())


def true_ranges(bars: Bars, before: int, last: int) -> Floats:
    """The log true ranges of the bars after `before` up to `last`."""
    close = np.log(bars.close[before:last])
    high, low = (np.log(side[before + 1 : last + 1]) for side in (bars.high, bars.low))
    ranges: Floats = np.maximum(high, close) - np.minimum(low, close)
    return ranges


FILTERS: Final[Mapping[str, Callable[[Breakout], bool | None]]] = {
    "trend before": with_trend,
    "contraction of volume": volume_contracted,
    "breakout volume": volume_at_breakout,
    "relative strength": stronger_than_market,
    "52-week high": on_the_side_of_the_high,
    "gap": with_gap,
}
