"""Boosting: small decision trees whose sum is the log-odds that readers accept a drawing.

Gradient boosting with Newton steps (Friedman, *Annals of Statistics* 2001; Chen and Guestrin, KDD
2016, equations 6 and 7), of complete trees of one depth on numbers cut into bins. Where a part may
only help or only hurt, no tree says otherwise: a split in the wrong order is refused, and both
halves are kept on their sides of its middle.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nightly.bars import Floats
from nightly.detector.judgement import DEPTH, LEAVES, NODES, Trees

BINS = 32

Indices = npt.NDArray[np.int64]


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
        node = np.zeros(len(numbers), np.int64)
        for _ in range(DEPTH):
            node = 2 * node + 1 + (numbers[rows, part[node]] > bound[node])
        total += leaf[node - NODES]
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
    edges = [
        np.unique(np.quantile(column, np.linspace(0, 1, BINS + 1)[1:-1])) for column in numbers.T
    ]
    binned = np.column_stack(
        [np.searchsorted(edge, column) for edge, column in zip(edges, numbers.T, strict=True)]
    )
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
    return Trees(float(base), np.array(parts), np.array(bounds), np.array(leaves))


def grow(
    binned: Indices,
    slope: Floats,
    curve: Floats,
    weight: Floats,
    signs: Indices,
    settings: Settings,
) -> tuple[Indices, Indices, Floats, Indices]:
    """One tree: the part and bin of each node, the value of each leaf, and the leaf of each row."""
    part, place = np.zeros(NODES, np.int64), np.full(NODES, BINS)
    low, high = np.full(NODES + LEAVES, -np.inf), np.full(NODES + LEAVES, np.inf)
    node = np.zeros(len(binned), np.int64)
    for one in range(NODES):
        low[2 * one + 1 : 2 * one + 3], high[2 * one + 1 : 2 * one + 3] = low[one], high[one]
        rows = np.flatnonzero(node == one)
        found = best_split(binned[rows], slope[rows], curve[rows], weight[rows], signs, settings)
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


def best_split(
    binned: Indices,
    slope: Floats,
    curve: Floats,
    weight: Floats,
    signs: Indices,
    settings: Settings,
) -> tuple[int, int, float] | None:
    """The part, the last bin of the left half, the middle of both values; None without a gain."""
    ridge = settings.ridge
    best, found = 1e-9, None
    whole = slope.sum() ** 2 / (curve.sum() + ridge)
    for part in range(binned.shape[1]):
        sums = [
            np.cumsum(np.bincount(binned[:, part], each, BINS))[:-1]
            for each in (slope, curve, weight)
        ]
        (left, left_curve, left_weight) = sums
        right, right_curve = slope.sum() - left, curve.sum() - left_curve
        low, high = left / (left_curve + ridge), right / (right_curve + ridge)
        gain = low * left + high * right - whole
        enough = np.minimum(left_weight, weight.sum() - left_weight) >= settings.least
        allowed = enough & ((high - low) * signs[part] >= 0)
        gain = np.where(allowed, gain, -np.inf)
        place = int(np.argmax(gain))
        if gain[place] > best:
            best, found = float(gain[place]), (part, place, float(low[place] + high[place]) / 2)
    return found
