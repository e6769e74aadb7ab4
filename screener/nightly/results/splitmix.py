"""SplitMix64: the same pseudo-random numbers on every machine and with every version of numpy.

G. L. Steele, D. Lea and C. H. Flood, Fast splittable pseudorandom number generators, OOPSLA 2014.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

Seeds = npt.NDArray[np.uint64]

STEP: Final = np.uint64(0x9E3779B97F4A7C15)
"""The golden ratio in 64 bits, by which the state advances."""


def integers(seeds: Seeds, number: int, below: int) -> npt.NDArray[np.int64]:
    """The first `number` integers from 0 to `below` - 1 of each seed: shape (seeds, number).

    They are taken modulo `below`, which biases them by less than `below` / 2**64.
    """
    mixed = seeds[:, None] + np.arange(1, number + 1, dtype=np.uint64) * STEP
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    found: npt.NDArray[np.int64] = (mixed % np.uint64(below)).astype(np.int64)
    return found
