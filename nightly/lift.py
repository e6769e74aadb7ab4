"""Lift: how trades did beside their own random entries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nightly.events import Rows
from nightly.intervals import Estimate, clustered


@dataclass(frozen=True, slots=True)
class Lift:
    """The trades that have random entries, each with the average of its own.

    Every trade counts once, however many random entries it has. Errors take the trades of one half
    year of entry as one cluster: random entries lie up to two years away from their trade, so that
    trades of neighbouring months are compared with the same stretches of the market. With months,
    the errors of real nights are up to 1.6 times smaller, and the test says too often that a line
    differs.
    """

    compared: int
    """The number of these trades."""
    own_r: Estimate
    """Their average R."""
    placebo_pct: Estimate
    """The share of random entries that reached the target, percent."""
    placebo_r: Estimate
    """The average R of random entries."""
    difference: Estimate
    """The mean of R minus the average R of the trade's random entries."""

    @classmethod
    def of(cls, trades: Rows, *, errors: bool = True) -> Lift | None:
        """The lift of resolved `FACTS` rows; None if no trade has random entries.

        Without `errors` every error is None, which takes a fraction of the time.
        """
        with_draws = trades[trades["draws"] > 0]
        if not len(with_draws):
            return None
        draws = with_draws["draws"].astype(np.float64)
        drawn = with_draws["drawn_r"] / draws
        columns = (
            with_draws["r"],
            100 * with_draws["drawn_wins"] / draws,
            drawn,
            with_draws["r"] - drawn,
        )
        if errors:
            ones, times = np.ones(len(with_draws)), half_years_of(with_draws)
            estimates = [clustered(values, ones, times) for values in columns]
        else:
            estimates = [Estimate(float(values.mean()), None) for values in columns]
        own, won, random, difference = (found for found in estimates if found is not None)
        return cls(len(with_draws), own, won, random, difference)


def differences(trades: Rows) -> npt.NDArray[np.float64]:
    """For each `FACTS` row, R minus the average R of its random entries; NaN without any."""
    draws = np.where(trades["draws"] > 0, trades["draws"], np.nan)
    found: npt.NDArray[np.float64] = trades["r"] - trades["drawn_r"] / draws
    return found


def half_years_of(trades: Rows) -> npt.NDArray[np.int64]:
    """The half year of entry of each `FACTS` row, counted from January 1970."""
    days = trades["entry_day"].astype("datetime64[D]")
    months: npt.NDArray[np.int64] = days.astype("datetime64[M]").astype(np.int64)
    return months // 6
