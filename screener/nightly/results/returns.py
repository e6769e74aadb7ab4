"""Returns: the daily returns of the covered stocks, summed by day.

Every worker sums the returns of its symbols as integers, because the sum of integers does not
depend on their order: the same night comes out of any number of processes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from screener.nightly.bars import Days
from screener.nightly.series import Series

UNIT: Final = 1e-9
"""The returns are rounded to this."""

Sums = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Returns:
    """Sums of daily returns over stocks, in `UNIT`, and how many stocks each day has."""

    first: int
    """The day number of the first day."""
    sums: Sums
    stocks: Sums

    @classmethod
    def of(cls, parts: Iterable[Series]) -> Returns:
        """The returns of one stock: from each close to that of the following session."""
        found = [_returns(part) for part in parts]
        days = np.concatenate([day for day, _ in found])
        if not len(days):
            return cls.total([])
        first = int(days[0])
        sums, stocks = np.zeros((2, int(days[-1]) - first + 1), np.int64)
        sums[days - first] = np.concatenate([value for _, value in found])
        stocks[days - first] = 1
        return cls(first, sums, stocks)

    @classmethod
    def total(cls, parts: Iterable[Returns]) -> Returns:
        """The sums over several stocks."""
        some = [part for part in parts if len(part.sums)]
        first = min((part.first for part in some), default=0)
        last = max((part.first + len(part.sums) for part in some), default=0)
        sums, stocks = np.zeros((2, last - first), np.int64)
        for part in some:
            place = slice(part.first - first, part.first - first + len(part.sums))
            sums[place] += part.sums
            stocks[place] += part.stocks
        return cls(first, sums, stocks)


def _returns(part: Series) -> tuple[Days, Sums]:
    bars = part.bars
    after = np.flatnonzero(part.following[1:]) + 1
    change = bars.close[after] / bars.close[after - 1] - 1
    return bars.date[after], np.rint(change / UNIT).astype(np.int64)
