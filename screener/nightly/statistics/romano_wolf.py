"""Multiple tests: which of many lines differ from zero, if all of them are looked at.

One in twenty lines without any difference is expected beyond two standard errors. The stepdown of
Romano and Wolf bounds the chance that any line is wrongly found to differ. It compares each line
with the largest of all lines in bootstrap resamples, so that lines which share trades cost little.

J. P. Romano and M. Wolf, Stepwise multiple testing as formalized data snooping, Econometrica 73
(2005); Efficient computation of adjusted p-values for resampling-based stepdown multiple testing,
Statistics and Probability Letters 113 (2016).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from screener.nightly.bars import Floats
from screener.nightly.results.splitmix import integers
from screener.nightly.series import Mask, Places

RESAMPLES: Final = 2000
TOGETHER: Final = 256
"""Lines whose resamples are in memory at a time, 4 MB for each of a few arrays."""
SEED: Final = 20261122
LEVEL: Final = 0.05
"""The chance that any line is wrongly found to differ."""


def adjusted_p(
    values: Floats,
    lines: Sequence[Mask] | Sequence[Places],
    clusters: npt.NDArray[np.int64],
) -> list[float]:
    """For each line, a mask over the values or their places, the adjusted p that its mean is not 0.

    Whole clusters are drawn with replacement. Means are studentised by their clustered errors, in
    the resamples too. Every line needs values in at least two clusters.
    """
    if not lines:
        return []
    names, cluster = np.unique(clusters, return_inverse=True)
    sums, counts = (
        np.array([np.bincount(cluster[line], weight[line], len(names)) for line in lines], float)
        for weight in (values, np.ones(len(values)))
    )
    means, errors = _studentised(sums, counts, np.ones((1, len(names))))
    found = np.abs(means[0] / errors[0])
    order = np.argsort(-found, kind="stable")
    p = _stepdown(found, means[0], sums, counts, _resampled(len(names)), order)
    adjusted = np.empty(len(found))
    adjusted[order] = p
    return [float(value) for value in adjusted]


def _resampled(clusters: int) -> Floats:
    """How often each resample draws each cluster: shape (`RESAMPLES`, clusters)."""
    seeds = np.uint64(SEED) + np.arange(RESAMPLES, dtype=np.uint64) * np.uint64(2**32)
    drawn = integers(seeds, clusters, clusters)
    places = drawn + clusters * np.arange(RESAMPLES)[:, None]
    counted = np.bincount(places.ravel(), minlength=RESAMPLES * clusters)
    return counted.reshape(RESAMPLES, clusters).astype(np.float64)


def _studentised(sums: Floats, counts: Floats, drawn: Floats) -> tuple[Floats, Floats]:
    """The mean of each line and its clustered error in each resample, of shape (resamples, lines).

    It is the error of `summary.clustered`.
    """
    number, size = drawn @ (counts > 0).T, drawn @ counts.T
    with np.errstate(divide="ignore", invalid="ignore"):
        means = drawn @ sums.T / size
        squares = drawn @ (sums**2).T - 2 * means * (drawn @ (sums * counts).T)
        squares = squares + means**2 * (drawn @ (counts**2).T)
        errors = np.sqrt(np.maximum(squares, 0) * number / (number - 1)) / size
    return means, np.where((number > 1) & (errors > 0), errors, np.nan)


def _stepdown(
    found: Floats, means: Floats, sums: Floats, counts: Floats, drawn: Floats, order: Places
) -> Floats:
    """The adjusted p of the lines in an order, the one that differs most first.

    From the last line to the first, some at a time, since all resamples of all lines would not fit.
    """
    largest = np.zeros((RESAMPLES, 1))
    beyond = np.empty(len(order))
    for end in range(len(order), 0, -TOGETHER):
        start = max(0, end - TOGETHER)
        lines = order[start:end][::-1]
        again, spread = _studentised(sums[lines], counts[lines], drawn)
        resampled = np.abs(again - means[lines]) / spread
        # A resample that drew fewer than two clusters of a line says nothing about it.
        resampled = np.where(np.isfinite(resampled), resampled, 0.0)
        # The largest of a line and all lines that come after it.
        up_to = np.maximum.accumulate(np.hstack([largest, resampled]), axis=1)[:, 1:]
        beyond[start:end] = (up_to >= found[lines]).sum(axis=0)[::-1]
        largest = up_to[:, -1:]
    p: Floats = np.maximum.accumulate((1 + beyond) / (1 + RESAMPLES))
    return p
