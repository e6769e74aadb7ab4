"""Prices: the bars of a symbol that a night keeps for its charts, and their bytes in the book."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

SHOWN = 320
"""Fewest sessions that a chart is given, if the night has so many: the last ones."""


@dataclass(frozen=True, slots=True, eq=False)
class Prices:
    """The bars a chart needs: int32 days since 1970-01-01 and float32 prices, oldest first."""

    date: npt.NDArray[np.int32]
    open: npt.NDArray[np.float32]
    high: npt.NDArray[np.float32]
    low: npt.NDArray[np.float32]
    close: npt.NDArray[np.float32]
    volume: npt.NDArray[np.float32] | None = None
    """In units of the asset, NaN where it is not known; None in a night sealed without volume."""

    def encode(self) -> bytes:
        """The arrays one after the other, little-endian."""
        columns = [self.open, self.high, self.low, self.close]
        columns += [] if self.volume is None else [self.volume]
        return self.date.astype("<i4").tobytes() + b"".join(
            column.astype("<f4").tobytes() for column in columns
        )

    def part(self, bars: slice) -> Prices:
        """Some of the bars."""
        volume = None if self.volume is None else self.volume[bars]
        opened, high, low, close = (
            column[bars] for column in (self.open, self.high, self.low, self.close)
        )
        return Prices(self.date[bars], opened, high, low, close, volume)

    @property
    def days(self) -> tuple[dt.date, ...]:
        """The day of each bar."""
        return tuple(self.date.astype("datetime64[D]").tolist())

    @property
    def first_day(self) -> dt.date:
        """The day of the first bar."""
        return self.part(slice(1)).days[0]

    @classmethod
    def decode(cls, body: bytes, bars: int) -> Prices:
        """The inverse of `encode`; the length of the body tells whether volume is in it."""
        date = np.frombuffer(body, "<i4", bars)
        columns = np.frombuffer(body, "<f4", offset=4 * bars).reshape(-1, bars)
        return cls(date, *columns)
