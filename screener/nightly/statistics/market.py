"""The market: the mean daily return of the covered stocks, and what it did on a day."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from screener.nightly.bars import Days, Floats
from screener.nightly.results.returns import UNIT, Returns
from screener.nightly.series import Mask, trailing_mean
from store.wire.method import Regime

MIN_STOCKS: Final = 20
"""A day with returns of fewer stocks is not a day of the market."""
TREND_DAYS: Final = 200
VOLATILITY_DAYS: Final = 20


@dataclass(frozen=True, slots=True, eq=False)
class MarketDays:
    """The days of the market, oldest first, and on which of them it did what."""

    days: Days
    did: Mapping[Regime, Mask]
    """`rising` if the index is above the mean of its last 200 days, else `falling`; neither before
    there are so many. The index is the product of the mean returns. `calm`, `normal` and
    `turbulent` are thirds of the deviation of the last 20 log returns, among the days from `since`
    on."""

    @classmethod
    def of(cls, returns: Returns, since: int) -> MarketDays:
        """The market of the summed returns; `since` is the day number of the first scored day."""
        offsets = np.flatnonzero(returns.stocks >= MIN_STOCKS)
        mean = UNIT * returns.sums[offsets] / returns.stocks[offsets]
        days = (offsets + returns.first).astype(np.int32)
        log_returns = np.log1p(np.maximum(mean, -0.99))
        return cls(days, _trend(np.cumsum(log_returns)) | _thirds(log_returns, days >= since))

    def regimes(self, days: Days) -> dict[Regime, Mask]:
        """By what the market may do: on which of some days it did, as of the last market day up to
        each; before the first it did nothing.
        """
        places = np.searchsorted(self.days, days, side="right")
        return {regime: np.append(False, on)[places] for regime, on in self.did.items()}


def _trend(levels: Floats) -> dict[Regime, Mask]:
    index = np.exp(levels - levels[:1])
    above = index > trailing_mean(index, TREND_DAYS)
    known = np.arange(1, len(index) + 1) >= TREND_DAYS
    return {"rising": known & above, "falling": known & ~above}


def _thirds(log_returns: Floats, counted: Mask) -> dict[Regime, Mask]:
    deviation = np.full(len(log_returns), np.nan)
    if len(log_returns) >= VOLATILITY_DAYS:
        windows = np.lib.stride_tricks.sliding_window_view(log_returns, VOLATILITY_DAYS)
        deviation[VOLATILITY_DAYS - 1 :] = windows.std(axis=1, ddof=1)
    among = deviation[counted & np.isfinite(deviation)]
    low, high = np.quantile(among, [1 / 3, 2 / 3]) if len(among) else (np.nan, np.nan)
    return {
        "calm": deviation <= low,
        "normal": (deviation > low) & (deviation <= high),
        "turbulent": deviation > high,
    }
