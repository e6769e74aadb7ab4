"""Bars: the daily OHLCV bars of one symbol, as six arrays of equal length.

Everything after the sources works on these arrays. Nothing here knows a file format.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Days = npt.NDArray[np.int32]

Adjustment = Literal["none", "split", "split+div"]
"""What prices are adjusted for."""
ADJUSTMENTS: Final = get_args(Adjustment)

EPOCH_ORDINAL = dt.date(1970, 1, 1).toordinal()


def to_date(day: int) -> dt.date:
    """The calendar date of a day number (days since 1970-01-01)."""
    return dt.date.fromordinal(int(day) + EPOCH_ORDINAL)


def to_day(date: dt.date) -> int:
    """The day number (days since 1970-01-01) of a calendar date."""
    return date.toordinal() - EPOCH_ORDINAL


@dataclass(frozen=True, slots=True, eq=False)
class Bars:
    """Daily bars of one symbol, oldest first.

    `date` is int32 days since 1970-01-01, strictly increasing. Prices are float64 in dollars (or
    the quote currency); `volume` is float64 in units of the asset.
    """

    date: Days
    open: Floats
    high: Floats
    low: Floats
    close: Floats
    volume: Floats

    def __len__(self) -> int:
        return len(self.date)

    @property
    def prices(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Open, high, low and close."""
        return self.open, self.high, self.low, self.close

    def columns(self) -> Iterator[npt.NDArray[Any]]:
        """The six arrays, in the order of the fields."""
        yield from (self.date, *self.prices, self.volume)

    def take(self, keep: slice | npt.NDArray[np.bool_]) -> Bars:
        """The bars that a slice or a boolean mask selects."""
        return Bars(*(column[keep] for column in self.columns()))

    @classmethod
    def joined(cls, parts: Sequence[Bars]) -> Bars:
        """The bars of some parts, each later than the one before."""
        columns = zip(*(part.columns() for part in (NO_BARS, *parts)), strict=True)
        return cls(*map(np.concatenate, columns))

    def until(self, day: int) -> Bars:
        """The bars up to and including a day number."""
        return self.take(slice(0, int(np.searchsorted(self.date, day, side="right"))))


NO_BARS: Final = Bars(np.zeros(0, np.int32), *np.zeros((5, 0)))
