"""Series: bars of one symbol whose prices can be compared, and the nights that served them.

A night cuts the bars of a symbol into series where prices before and after cannot be compared.
Everything later is found within one series. The bars up to any day give the same series, up to that
day, as a night of that day had.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nightly.bars import Bars, Floats

Mask = npt.NDArray[np.bool_]
Places = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """Bars of one owner of a ticker, all in the same shares."""

    bars: Bars
    idle: Mask
    """Bars of years that hardly traded: no line crosses them."""
    served: Mask
    """Bars whose night served the symbol."""
    following: Mask
    """Bars of the session after that of the bar before."""

    @classmethod
    def sound(cls, bars: Bars) -> Series:
        """Bars of consecutive sessions that every night served."""
        all_of_them = np.ones(len(bars), np.bool_)
        return cls(bars, ~all_of_them, all_of_them, all_of_them)

    @property
    def announced(self) -> Mask:
        """Bars whose night before served the symbol."""
        before = np.concatenate([[False], self.served[:-1]])[: len(self)]
        return np.asarray(before & self.following)

    def __len__(self) -> int:
        return len(self.bars)

    def first(self, number: int) -> Series:
        """The first bars."""
        cut = slice(0, number)
        return Series(self.bars.take(cut), self.idle[cut], self.served[cut], self.following[cut])

    @property
    def active(self) -> Bars:
        """The bars since the last idle one."""
        last = np.flatnonzero(self.idle)
        return self.bars.take(slice(int(last[-1]) + 1, None)) if len(last) else self.bars


def trailing_share(hits: Mask, width: int, start: Places | int = 0) -> Floats:
    """For each bar, the share of hits among the last `width` bars, but none before `start`."""
    sums = np.concatenate([[0], np.cumsum(hits)])
    ends = np.arange(1, len(hits) + 1)
    first = np.maximum(ends - width, start)
    share: Floats = (sums[ends] - sums[first]) / (ends - first)
    return share


def trailing_mean(values: Floats, width: int) -> Floats:
    """For each bar, the mean of the last `width` values, or of all if there are fewer."""
    sums = np.concatenate([[0.0], np.cumsum(values)])
    ends = np.arange(1, len(values) + 1)
    first = np.maximum(ends - width, 0)
    mean: Floats = (sums[ends] - sums[first]) / (ends - first)
    return mean


def starts(begins: Mask) -> Places:
    """For each bar, the last bar up to it that begins something; the first bar if none does."""
    return np.maximum.accumulate(np.where(begins, np.arange(len(begins)), 0))


def bars_since(marks: Mask) -> Places:
    """For each bar, the number of bars up to it since the last mark, or all if there was none."""
    ends = np.arange(1, len(marks) + 1)
    return ends - np.maximum.accumulate(np.where(marks, ends, 0))
