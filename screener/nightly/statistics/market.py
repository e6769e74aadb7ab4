"""The market: the mean daily return of the covered stocks, and what it did on a day."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from screener.nightly.bars import Days, Floats
from screener.nightly.results.returns import UNIT, Returns
from screener.nightly.series import Mask, trailing_mean
from store.wire.method import Regime

MIN_STOCKS: Final = 20
"""A day with returns of fewer stocks is not a day of the market."""
TREND_DAYS: Final = 200
VOLATILITY_DAYS: Final = 20

Codes = npt.NDArray[np.int8]

UNKNOWN: Final = 0
FALLING, RISING = 1, 2
CALM, NORMAL, TURBULENT = 1, 2, 3


@dataclass(frozen=True, slots=True, eq=False)
class MarketDays:
    """The days of the market, oldest first, each with its trend and its third of volatility."""

    days: Days
    trend: Codes
    """`RISING` if the index is above the mean of its last 200 days, else `FALLING`; `UNKNOWN`
    before there are so many. The index is the product of the mean returns."""
    volatility: Codes
    """The third of the deviation of the last 20 log returns, among the days from `since` on."""

    @classmethod
    def of(cls, returns: Returns, since: int) -> MarketDays:
        """The market of the summed returns; `since` is the day number of the first scored day."""
        offsets = np.flatnonzero(returns.stocks >= MIN_STOCKS)
        mean = UNIT * returns.sums[offsets] / returns.stocks[offsets]
        days = (offsets + returns.first).astype(np.int32)
        log_returns = np.log1p(np.maximum(mean, -0.99))
        return cls(days, _trend(np.cumsum(log_returns)), _thirds(log_returns, days >= since))

    def regimes(self, days: Days) -> dict[Regime, Mask]:
        """By what the market may do: on which of the days it did."""
        trend, third = (self._at(days, codes) for codes in (self.trend, self.volatility))
        return {
            "rising": trend == RISING,
            "falling": trend == FALLING,
            "calm": third == CALM,
            "normal": third == NORMAL,
            "turbulent": third == TURBULENT,
        }

    def _at(self, days: Days, codes: Codes) -> Codes:
        """The codes on the last market day up to each day; `UNKNOWN` before the first."""
        if not len(codes):
            return np.zeros(len(days), np.int8)
        places = np.searchsorted(self.days, days, side="right") - 1
        return np.where(places < 0, np.int8(UNKNOWN), codes[np.maximum(places, 0)])


def _trend(levels: Floats) -> Codes:
    index = np.exp(levels - levels[:1])
    above = index > trailing_mean(index, TREND_DAYS)
    codes = np.where(above, np.int8(RISING), np.int8(FALLING))
    codes[: TREND_DAYS - 1] = UNKNOWN
    return codes


def _thirds(log_returns: Floats, counted: Mask) -> Codes:
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
