"""Intervals: the uncertainty of a rate or a mean that was measured on trades."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from nightly.bars import Floats

Z: Final = 1.959963984540054
"""95% of a normal distribution lies within this many standard errors of its mean."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with its standard error, which is None with fewer than two clusters."""

    mean: float
    error: float | None


def wilson(wins: int, trades: int) -> tuple[float, float]:
    """The 95% Wilson interval of a rate, as shares; always within 0 and 1, even for few trades.

    E. B. Wilson, Probable inference, the law of succession, and statistical inference, 1927.
    """
    share, spread = wins / trades, Z * Z / trades
    centre = (share + spread / 2) / (1 + spread)
    half = Z * math.sqrt(share * (1 - share) / trades + spread / (4 * trades)) / (1 + spread)
    # Rounding must not push the rate itself out of its interval.
    return max(0.0, min(share, centre - half)), min(1.0, max(share, centre + half))


def clustered(totals: Floats, weights: Floats, clusters: npt.NDArray[np.int64]) -> Estimate | None:
    """The ratio of two sums, with a standard error that allows for correlation within clusters.

    `totals` and `weights` have one value per trade: for a mean over draws, the sum over the trade's
    draws and their number; for a mean over trades, its value and 1. The error is that of the
    linearised ratio with independent clusters and the small-sample factor G/(G - 1). None if all
    weights are 0.
    """
    weight = float(weights.sum())
    if not weight:
        return None
    mean = float(totals.sum()) / weight
    _, cluster = np.unique(clusters, return_inverse=True)
    sums = np.bincount(cluster, totals - mean * weights)
    number = len(sums)
    if number < 2:
        return Estimate(mean, None)
    variance = float(np.square(sums).sum()) * number / (number - 1)
    return Estimate(mean, math.sqrt(variance) / weight)
