"""Summary: the numbers of a group of resolved trades, from which every record of them is written.

Every trade counts once, however many random entries it has. Errors take the trades of one half year
of entry as one cluster: random entries lie up to two years away from their trade, so that trades of
neighbouring months are compared with the same stretches of the market. With months, the errors of
real nights are up to 1.6 times smaller, and the test says too often that a line differs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from screener.nightly.bars import Floats
from screener.nightly.detector.events import Outcome, Rows
from screener.nightly.results.views import percent
from store.wire.records import Verdict

Z: Final = 1.959963984540054
"""95% of a normal distribution lies within this many standard errors of its mean."""

SHRINKAGE = 60
"""Weight of the prior in trades. Predicting later R from earlier R improves up to about here."""

R_CLIP = (-3.0, 10.0)
"""Bounds for one trade's R, used only in `expected_r`, so that one outlier cannot dominate it."""


class Conclusion(NamedTuple):
    """What may be said of a group, and the adjusted p behind it; None if it was not tested."""

    verdict: Verdict | None
    adjusted_p: float | None = None


UNTESTED: Final = Conclusion("too_few")
"""What may be said of a group with too few trades."""


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean with its standard error, which is None with fewer than two clusters."""

    value: float
    error: float | None


@dataclass(frozen=True, slots=True)
class Lift:
    """How the trades that have random entries did beside their own."""

    compared: int
    """The number of these trades."""
    own_r: Mean
    """Their average R."""
    placebo_pct: Mean
    """The share of random entries that reached the target, percent."""
    placebo_r: Mean
    """The average R of random entries."""
    difference: Mean
    """The mean of R minus the average R of the trade's random entries."""


@dataclass(frozen=True, eq=False)
class GroupSummary:
    """What the resolved trades of a group came to; its shares and moves are percent.

    Without any trade only their number and `expected_r` have a value.
    """

    facts: Rows
    """Resolved `FACTS` rows."""
    conclusion: Conclusion = UNTESTED
    prior: float = 0.0
    """What `expected_r` is shrunk towards: 0 for a family, the family's value for a ticker."""

    @property
    def trades(self) -> int:
        """How many there are."""
        return len(self.facts)

    @cached_property
    def gains(self) -> Floats:
        """The moves of the trades that reached their target."""
        return self._moves(Outcome.WIN)

    @property
    def losses(self) -> int:
        """How many trades did not reach their target."""
        return self.trades - len(self.gains)

    @cached_property
    def win_rate_pct(self) -> float:
        """How many reached the target, rounded as it is served."""
        return percent(100 * (len(self.gains) / self.trades))

    @property
    def win_rate_range(self) -> tuple[float, float]:
        """Its 95% interval, rounded as it is served."""
        low, high = wilson(len(self.gains), self.trades)
        return percent(100 * low), percent(100 * high)

    @cached_property
    def avg_win_pct(self) -> float | None:
        """Average of the trades that reached the target, rounded as served; None without any."""
        return _average(self.gains)

    @cached_property
    def avg_loss_pct(self) -> float | None:
        """Average of the stopped trades, rounded as served; None without any.

        A delisted trade is no win, but it may have gained, so that it is not among them.
        """
        return _average(self._moves(Outcome.LOSS))

    @cached_property
    def median_win(self) -> float | None:
        """Median of the trades that reached the target; None without any."""
        # For the few trades of a ticker this takes a tenth of the time of numpy's median.
        return median(self.gains.tolist()) if len(self.gains) else None

    @cached_property
    def r(self) -> Mean:
        """The average R."""
        return self._mean(self.facts["r"], self.facts)

    @property
    def half_years(self) -> int:
        """How many half years the trades were entered in."""
        return len(np.unique(half_years_of(self.facts)))

    @cached_property
    def expected_r(self) -> float:
        """The average R, each within `R_CLIP`, shrunk towards the prior."""
        low, high = R_CLIP
        total = float(np.minimum(np.maximum(self.facts["r"], low), high).sum())
        return (total + SHRINKAGE * self.prior) / (self.trades + SHRINKAGE)

    @cached_property
    def win_in_atrs(self) -> float | None:
        """The median win in ATRs at entry; None without a win."""
        won = self.facts[self.facts["outcome"] == Outcome.WIN]
        return float(np.median(won["realized_pct"] / won["atr_pct"])) if len(won) else None

    @cached_property
    def lift(self) -> Lift | None:
        """How the trades did beside their random entries; None if no trade has any."""
        compared = self.facts[self.facts["draws"] > 0]
        if not len(compared):
            return None
        r, draws = compared["r"], compared["draws"].astype(np.float64)
        drawn = compared["drawn_r"] / draws
        return Lift(
            len(compared),
            own_r=self._mean(r, compared),
            placebo_pct=self._mean(100 * compared["drawn_wins"] / draws, compared),
            placebo_r=self._mean(drawn, compared),
            difference=self._mean(r - drawn, compared),
        )

    def r_after_costs(self, basis_points: int) -> float:
        """Average R after round-trip costs; the tighter the stop, the more R they take."""
        costs = basis_points / 100 / self.facts["risk_pct"]
        return float((self.facts["r"] - costs).sum()) / self.trades

    def _moves(self, outcome: Outcome) -> Floats:
        moves: Floats = self.facts["realized_pct"][self.facts["outcome"] == int(outcome)]
        return moves

    def _mean(self, values: Floats, trades: Rows) -> Mean:
        # The error of a few trades is itself so uncertain that it may look like a finding.
        if self.conclusion.verdict == "too_few":
            return Mean(float(values.sum()) / len(values), None)
        return clustered(values, half_years_of(trades))


def _average(moves: Floats) -> float | None:
    return percent(float(moves.sum()) / len(moves)) if len(moves) else None


def differences(trades: Rows) -> Floats:
    """For each `FACTS` row, R minus the average R of its random entries; NaN without any."""
    draws = np.where(trades["draws"] > 0, trades["draws"], np.nan)
    found: Floats = trades["r"] - trades["drawn_r"] / draws
    return found


def half_years_of(trades: Rows) -> npt.NDArray[np.int64]:
    """The half year of entry of each `FACTS` row, counted from January 1970."""
    days = trades["entry_day"].astype("datetime64[D]")
    months: npt.NDArray[np.int64] = days.astype("datetime64[M]").astype(np.int64)
    return months // 6


def wilson(wins: int, trades: int) -> tuple[float, float]:
    """The 95% Wilson interval of a rate, as shares; always within 0 and 1, even for few trades.

    E. B. Wilson, Probable inference, the law of succession, and statistical inference, 1927.
    """
    share, spread = wins / trades, Z * Z / trades
    centre = (share + spread / 2) / (1 + spread)
    half = Z * math.sqrt(share * (1 - share) / trades + spread / (4 * trades)) / (1 + spread)
    # Rounding must not push the rate itself out of its interval.
    return max(0.0, min(share, centre - half)), min(1.0, max(share, centre + half))


def clustered(values: Floats, clusters: npt.NDArray[np.int64]) -> Mean:
    """The mean of at least one value, with an error that allows for correlation within clusters.

    It is that of the linearised mean with independent clusters and the small-sample factor
    G/(G - 1).
    """
    mean = float(values.sum()) / len(values)
    _, cluster = np.unique(clusters, return_inverse=True)
    sums = np.bincount(cluster, values - mean)
    number = len(sums)
    if number < 2:
        return Mean(mean, None)
    variance = float(np.square(sums).sum()) * number / (number - 1)
    return Mean(mean, math.sqrt(variance) / len(values))
