"""Boosting: small decision trees whose sum is the log-odds that readers accept a drawing.

Gradient boosting with Newton steps (Friedman, *Annals of Statistics* 2001; Chen and Guestrin, KDD
2016, equations 6 and 7), of complete trees of one depth on numbers cut into bins. Where a part may
only help or only hurt, no tree says otherwise: a split in the wrong order is refused, and both
halves are kept on their sides of its middle.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
import numpy.typing as npt

from screener.nightly.bars import Floats
from screener.nightly.detector.judgement import DEPTH, LEAVES, NODES, Trees

BINS = 32
MIN_GAIN = 1e-9

Indices = npt.NDArray[np.int64]
Bins = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Settings:
    """How much the trees may learn."""

    trees: int
    rate: float
    ridge: float
    """Penalty on a leaf, in units of a row's weight."""
    least: float
    """Rows, by weight, of each half of a split."""


def odds_of(trees: Trees, numbers: Floats) -> Floats:
    """The log-odds of each row of numbers, as the kernel adds them up."""
    total = np.full(len(numbers), trees.base)
    rows = np.arange(len(numbers))
    for part, bound, leaf in zip(trees.part, trees.bound, trees.leaf, strict=True):
        node = np.ones(len(numbers), np.int64)
        for _ in range(DEPTH):
            node = 2 * node + (numbers[rows, part[node]] > bound[node])
        total += leaf[node - LEAVES]
    return total


def boosted(
    numbers: Floats, accepted: Floats, weight: Floats, signs: Indices, settings: Settings
) -> Trees:
    """Trees learned from rows of numbers.

    Args:
        numbers: [row, part].
        accepted: [row], 1 or 0.
        weight: [row].
        signs: [part], +1 if more of it may only help, -1 if it may only hurt, else 0.
        settings: how much they learn.
    """
    share = float(np.average(accepted, weights=weight))
    base = np.log(share / (1 - share))
    edges = [edges_of(column) for column in numbers.T]
    binned = np.column_stack(
        [np.searchsorted(edge, column) for edge, column in zip(edges, numbers.T, strict=True)]
    ).astype(np.uint8)
    odds = np.full(len(numbers), base)
    grown = []
    for _ in range(settings.trees):
        chance = 1 / (1 + np.exp(-odds))
        slope, curve = weight * (accepted - chance), weight * chance * (1 - chance)
        part, place, leaf, node = grow(binned, slope, curve, weight, signs, settings)
        bound = [
            edges[p][b] if b < len(edges[p]) else np.inf for p, b in zip(part, place, strict=True)
        ]
        grown.append((part, bound, leaf))
        odds += leaf[node]
    parts, bounds, leaves = zip(*grown, strict=True)
    first = ((0, 0), (1, 0))  # `Trees` begins at node 1
    padded = np.pad(np.array(parts, np.uint8), first)
    return Trees(float(base), padded, np.pad(np.array(bounds), first), np.array(leaves))


def edges_of(column: Floats) -> Floats:
    """The bounds of the bins of a part, about as many rows in each.

    They lie halfway between two values, so that the last digits of a value do not move it.
    """
    values = np.unique(column)
    quantiles = np.quantile(column, np.linspace(0, 1, BINS + 1)[1:-1])
    above = np.unique(np.searchsorted(values, quantiles, side="right"))
    above = above[above < len(values)]
    return 0.5 * (values[above - 1] + values[above])


def grow(
    binned: Bins,
    slope: Floats,
    curve: Floats,
    weight: Floats,
    signs: Indices,
    settings: Settings,
) -> tuple[Indices, Indices, Floats, Indices]:
    """One tree: the part and bin of each node, the value of each leaf, and the leaf of each row.

    While it grows its root is node 0, and below node n are 2n + 1 and 2n + 2.
    """
    part, place = np.zeros(NODES, np.int64), np.full(NODES, BINS)
    low, high = np.full(NODES + LEAVES, -np.inf), np.full(NODES + LEAVES, np.inf)
    node = np.zeros(len(binned), np.int64)
    values = np.column_stack([slope, curve, weight])
    for one in range(NODES):
        low[2 * one + 1 : 2 * one + 3], high[2 * one + 1 : 2 * one + 3] = low[one], high[one]
        rows = np.flatnonzero(node == one)
        found = best_split(histograms(binned, values, rows), signs, settings)
        if found is not None:
            part[one], place[one], middle = found
            sign = signs[part[one]]
            middle = min(max(middle, low[one]), high[one])
            if sign:
                below, above = (2 * one + 1, 2 * one + 2)[::sign]
                high[below], low[above] = middle, middle
        node[rows] = 2 * one + 1 + (binned[rows, part[one]] > place[one])
    leaf = np.zeros(LEAVES)
    for one in range(LEAVES):
        rows = node == NODES + one
        value = slope[rows].sum() / (curve[rows].sum() + settings.ridge)
        leaf[one] = settings.rate * min(max(value, low[NODES + one]), high[NODES + one])
    return part, place, leaf, node - NODES


def best_split(sums: Floats, signs: Indices, settings: Settings) -> tuple[int, int, float] | None:
    """The part, the last bin of the left half, the middle of both values; None without a gain.

    The sums are those of `histograms`.
    """
    ridge = settings.ridge
    upto = np.cumsum(sums, axis=1)
    left, left_curve, left_weight = np.moveaxis(upto[:, :-1], 2, 0)
    whole, whole_curve, whole_weight = upto[0, -1]
    right, right_curve = whole - left, whole_curve - left_curve
    low, high = left / (left_curve + ridge), right / (right_curve + ridge)
    gain = low * left + high * right - whole**2 / (whole_curve + ridge)
    enough = np.minimum(left_weight, whole_weight - left_weight) >= settings.least
    allowed = enough & ((high - low) * signs[:, None] >= 0)
    gain = np.where(allowed, gain, -np.inf)
    part, place = np.unravel_index(np.argmax(gain), gain.shape)
    if gain[part, place] <= MIN_GAIN:
        return None
    return int(part), int(place), float(low[part, place] + high[part, place]) / 2


@numba.njit(cache=True, nogil=True)
def histograms(binned: Bins, values: Floats, rows: Indices) -> Floats:
    """[part, bin, value]: the sums of the values of some rows, by the bins of each part."""
    sums = np.zeros((binned.shape[1], BINS, values.shape[1]))
    for row in rows:
        for part in range(binned.shape[1]):
            for value in range(values.shape[1]):
                sums[part, binned[row, part], value] += values[row, value]
    return sums
