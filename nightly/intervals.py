"""Intervals: how far a rate or a mean measured on these trades may be off."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from nightly.bars import Floats

Z: Final = 1.959963984540054
"""Standard errors to either side that hold 95% of a normal distribution."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with its standard error; None with fewer than two clusters."""

    mean: float
    error: float | None


def wilson(wins: int, trades: int) -> tuple[float, float]:
    """The 95% interval of a rate, as shares; it stays within 0 and 1 however few the trades.

    E. B. Wilson, Probable inference, the law of succession, and statistical inference, 1927.
    """
    share, spread = wins / trades, Z * Z / trades
    centre = (share + spread / 2) / (1 + spread)
    half = Z * math.sqrt(share * (1 - share) / trades + spread / (4 * trades)) / (1 + spread)
    # Rounding may not push the rate itself outside.
    return max(0.0, min(share, centre - half)), min(1.0, max(share, centre + half))


def clustered(totals: Floats, weights: Floats, clusters: npt.NDArray[np.int64]) -> Estimate | None:
    """The ratio of two sums and its error when the members of a cluster move together.

    `totals` and `weights` have one value a trade (a sum over its draws, and their number); of
    trades, not draws, the weights are 1. Linearised ratio, clusters independent of each other, with
    the small-sample factor G/(G - 1). None without any weight.
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
