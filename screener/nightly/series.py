"""Series: bars of one symbol whose prices can be compared, and the nights that served them.

A night cuts the bars of a symbol into series where prices before and after cannot be compared.
Everything later is found within one series. The bars up to any day give the same series, up to that
day, as a night of that day had.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from screener.nightly.bars import Bars, Floats

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
        return self._take(slice(0, number))

    def since(self, place: int) -> Series:
        """The bars from a place on."""
        return self._take(slice(place, None))

    def _take(self, cut: slice) -> Series:
        return Series(self.bars.take(cut), self.idle[cut], self.served[cut], self.following[cut])

    @property
    def active(self) -> Bars:
        """The bars since the last idle one."""
        last = np.flatnonzero(self.idle)
        return self.bars.take(slice(int(last[-1]) + 1, None)) if len(last) else self.bars


def parts(begins: Mask) -> list[slice]:
    """The bars from each beginning to the next; the first bar begins one in any case."""
    places = [0, *(np.flatnonzero(begins[1:]) + 1).tolist(), len(begins)]
    return [slice(start, end) for start, end in pairwise(places)]


def trailing_share(hits: Mask, width: int) -> Floats:
    """For each bar, the share of hits among the last `width` bars, or all if there are fewer."""
    return trailing_mean(hits, width) if hits.any() else np.zeros(len(hits))


def trailing_mean(values: Floats | Mask, width: int) -> Floats:
    """For each bar, the mean of the last `width` values, or of all if there are fewer."""
    sums: npt.NDArray[Any] = np.cumsum(values)
    means = np.empty(len(values))
    means[:width] = sums[:width] / np.arange(1, len(sums[:width]) + 1)
    means[width:] = (sums[width:] - sums[:-width]) / width
    return means


def starts(begins: Mask) -> Places:
    """For each bar, the last bar up to it that begins something; the first bar if none does."""
    places = np.append(0, np.flatnonzero(begins[1:]) + 1)
    return np.repeat(places, np.diff(places, append=len(begins)))


def bars_since(marks: Mask) -> Places:
    """For each bar, the number of bars up to it since the last mark, or all if there was none."""
    since = np.arange(1, len(marks) + 1)
    if marks.any():
        since -= np.maximum.accumulate(np.where(marks, since, 0))
    return since
