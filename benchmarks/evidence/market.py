"""The market: an index of all stocks, each with the same weight on every day."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np

from nightly.bars import Bars, Days, Floats

FEWEST: Final = 5
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
        enough = number >= FEWEST
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
