"""Judgement: the trees of the score, learned from charts that readers rated blind.

The score of a drawing is the chance in percent that two readers both accept it. Its log-odds are
the sum of small decision trees over the numbers of its shape: one set for wedges and triangles, one
for squeezes. `research/chartist/README.md` explains each number and how the trees came about;
`python -m research.chartist fit` learns them anew from the ratings that are kept.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from importlib import resources
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

DEPTH = 4
NODES, LEAVES = 2**DEPTH - 1, 2**DEPTH

Parts = npt.NDArray[np.uint8]


class Trees(NamedTuple):
    """Complete trees as the kernel walks them: the root is node 1, below node n are 2n (at most the
    bound) and 2n + 1, last the leaves. All that a tree needs lies in two lines of the processor's
    cache.
    """

    base: float
    """The log-odds before any tree."""
    part: Parts
    """[tree, node], a place among the numbers that the trees are of; node 0 is empty."""
    bound: npt.NDArray[np.float64]
    """[tree, node]"""
    leaf: npt.NDArray[np.float64]
    """[tree, leaf], in log-odds."""


def read_trees(kind: str, numbers: Sequence[str]) -> Trees:
    """The trees of a kind, `long` or `squeeze`, from `judgement.csv`, over the numbers so named."""
    places = {name: place for place, name in enumerate(numbers)}
    text = (resources.files(__package__) / "judgement.csv").read_text()
    rows = [row[1:] for row in csv.reader(text.splitlines()) if row[0] == kind]
    base, trees = float(rows[0][0]), rows[1:]
    part, bound = np.zeros((len(trees), LEAVES), np.uint8), np.zeros((len(trees), LEAVES))
    part[:, 1:] = [[places[name] for name in tree[:NODES]] for tree in trees]
    bound[:, 1:] = np.array([tree[NODES : 2 * NODES] for tree in trees], np.float64)
    leaf = np.array([tree[2 * NODES :] for tree in trees], np.float64)
    return Trees(base, part, bound, leaf)
