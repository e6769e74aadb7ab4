"""The market: the mean daily return of the covered stocks, and what it did on a day.

Every worker sums the returns of its symbols by day, as integers, because the sum of integers does
not depend on their order: the same night comes out of any number of processes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from nightly.bars import Days, Floats
from nightly.series import Series

UNIT: Final = 1e-9
"""The returns are rounded to this."""
LEAST_STOCKS: Final = 20
"""A day with returns of fewer stocks is not a day of the market."""
TREND_DAYS: Final = 200
VOLATILITY_DAYS: Final = 20

Codes = npt.NDArray[np.int8]
Sums = npt.NDArray[np.int64]

UNKNOWN: Final = 0
FALLING, RISING = 1, 2
CALM, NORMAL, TURBULENT = 1, 2, 3


@dataclass(frozen=True, slots=True, eq=False)
class Returns:
    """Sums of daily returns over stocks, in `UNIT`, and how many stocks each day has."""

    first: int
    """The day number of the first day."""
    sums: Sums
    stocks: Sums

    @classmethod
    def none(cls) -> Returns:
        """Of no stock."""
        return cls(0, np.empty(0, np.int64), np.empty(0, np.int64))

    @classmethod
    def of(cls, parts: Iterable[Series]) -> Returns:
        """The returns of one stock: from each close to that of the following session."""
        found = [_returns(part) for part in parts]
        days = np.concatenate([day for day, _ in found])
        if not len(days):
            return cls.none()
        first = int(days[0])
        sums, stocks = np.zeros((2, int(days[-1]) - first + 1), np.int64)
        sums[days - first] = np.concatenate([value for _, value in found])
        stocks[days - first] = 1
        return cls(first, sums, stocks)

    @classmethod
    def total(cls, parts: Iterable[Returns]) -> Returns:
        """The sums over several stocks."""
        kept = [part for part in parts if len(part.sums)]
        if not kept:
            return cls.none()
        first = min(part.first for part in kept)
        last = max(part.first + len(part.sums) for part in kept)
        sums, stocks = np.zeros((2, last - first), np.int64)
        for part in kept:
            place = slice(part.first - first, part.first - first + len(part.sums))
            sums[place] += part.sums
            stocks[place] += part.stocks
        return cls(first, sums, stocks)


def _returns(part: Series) -> tuple[Days, Sums]:
    bars = part.bars
    after = np.flatnonzero(part.following[1:]) + 1
    change = bars.close[after] / bars.close[after - 1] - 1
    return bars.date[after], np.rint(change / UNIT).astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Market:
    """The days of the market, oldest first, each with its trend and its third of volatility."""

    days: Days
    trend: Codes
    """`RISING` if the index is above the mean of its last 200 days, else `FALLING`; `UNKNOWN`
    before there are so many. The index is the product of the mean returns."""
    volatility: Codes
    """The third of the deviation of the last 20 log returns, among the days from `since` on."""

    @classmethod
    def of(cls, returns: Returns, since: int) -> Market:
        """The market of the summed returns; `since` is the day number of the first scored day."""
        offsets = np.flatnonzero(returns.stocks >= LEAST_STOCKS)
        mean = UNIT * returns.sums[offsets] / returns.stocks[offsets]
        days = (offsets + returns.first).astype(np.int32)
        log_returns = np.log1p(np.maximum(mean, -0.99))
        return cls(days, _trend(np.cumsum(log_returns)), _thirds(log_returns, days >= since))

    def at(self, days: Days, codes: Codes) -> Codes:
        """The codes on the last market day up to each day; `UNKNOWN` before the first."""
        if not len(codes):
            return np.zeros(len(days), np.int8)
        places = np.searchsorted(self.days, days, side="right") - 1
        return np.where(places < 0, np.int8(UNKNOWN), codes[np.maximum(places, 0)])


def _trend(levels: Floats) -> Codes:
    codes = np.zeros(len(levels), np.int8)
    if len(levels) >= TREND_DAYS:
        index = np.exp(levels - levels[0])
        sums = np.cumsum(np.concatenate([[0.0], index]))
        mean = (sums[TREND_DAYS:] - sums[:-TREND_DAYS]) / TREND_DAYS
        codes[TREND_DAYS - 1 :] = np.where(index[TREND_DAYS - 1 :] > mean, RISING, FALLING)
    return codes


def _thirds(log_returns: Floats, counted: npt.NDArray[np.bool_]) -> Codes:
    codes = np.zeros(len(log_returns), np.int8)
    if len(log_returns) < VOLATILITY_DAYS:
        return codes
    windows = np.lib.stride_tricks.sliding_window_view(log_returns, VOLATILITY_DAYS)
    deviation = windows.std(axis=1, ddof=1)
    among = deviation[counted[VOLATILITY_DAYS - 1 :]]
    if len(among):
        low, high = np.quantile(among, [1 / 3, 2 / 3])
        thirds = 1 + (deviation > low).astype(np.int8) + (deviation > high)
        codes[VOLATILITY_DAYS - 1 :] = thirds
    return codes
