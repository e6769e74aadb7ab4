"""Comparison: the lift of the trades that pass a filter against that of the trades that fail it.

The difference of the two means is linearised, and its error clustered by the calendar month of
entry. All filters are corrected together by the stepdown of Romano and Wolf (2005) with a
studentised bootstrap over months, as research/README.md states.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from screener.nightly.bars import Floats

RESAMPLES: Final = 2000
SEED: Final = 20261122
FEW: Final = 30

Mask = npt.NDArray[np.bool_]
Months = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """By month (columns): the number and the sum of the lifts of passing and failing trades."""

    number: Floats
    """Shape (2, months)."""
    total: Floats

    @classmethod
    def of(cls, lift: Floats, passes: Mask, fails: Mask, month: Months) -> Sums:
        """The sums of the trades of each month, given by its place 0, 1, ..."""
        length = int(month.max()) + 1
        number = [np.bincount(month[side], minlength=length) for side in (passes, fails)]
        total = [np.bincount(month[side], lift[side], length) for side in (passes, fails)]
        return cls(np.array(number, np.float64), np.array(total))

    @property
    def few(self) -> bool:
        """Whether either group is too small for a test, or all trades are of one month."""
        months = np.count_nonzero(self.number.any(axis=0))
        return bool(self.number.sum(axis=1).min() < FEW or months < 2)

    def difference(self, weights: Floats) -> tuple[Floats, Floats]:
        """The difference of the means and its error in each resample.

        `weights` of shape (resamples, months) say how often each month was drawn. Both are NaN in a
        resample without a trade in one of the groups, or with fewer than two months of trades.
        """
        number = weights @ self.number.T
        with np.errstate(divide="ignore", invalid="ignore"):
            means = weights @ self.total.T / number
            left = self.total - means[:, :, None] * self.number
            influence = left[:, 0] / number[:, :1] - left[:, 1] / number[:, 1:]
            clusters = weights @ self.number.any(axis=0).astype(np.float64)
            spread = (weights * np.square(influence)).sum(axis=1)
            error = np.sqrt(spread * clusters / (clusters - 1))
        return means[:, 0] - means[:, 1], error


@dataclass(frozen=True, slots=True)
class FilterTest:
    """A difference with its error, and its adjusted p; None where there were too few trades."""

    difference: float
    error: float
    adjusted_p: float | None


def compare(
    lift: Floats, verdicts: Sequence[npt.NDArray[np.int8]], months: Months
) -> list[FilterTest]:
    """Test filters together: each gives 1 for a trade that passes, 0 if it fails, else -1."""
    place = np.unique(months, return_inverse=True)[1]
    sums = [Sums.of(lift, verdict == 1, verdict == 0, place) for verdict in verdicts]
    length = int(place.max()) + 1
    found = [one.difference(np.ones((1, length))) for one in sums]
    tested = [number for number, one in enumerate(sums) if not one.few]
    drawn = np.random.default_rng(SEED).multinomial(length, np.full(length, 1 / length), RESAMPLES)
    values, stars = [], []
    for number in tested:
        again, error = sums[number].difference(drawn.astype(np.float64))
        at = found[number][0][0]
        values.append(abs(at / found[number][1][0]))
        stars.append(np.nan_to_num(np.abs((again - at) / error)))
    adjusted = dict(zip(tested, stepdown(values, stars), strict=True))
    return [
        FilterTest(float(difference[0]), float(error[0]), adjusted.get(number))
        for number, (difference, error) in enumerate(found)
    ]


def stepdown(values: Sequence[float], stars: Sequence[Floats]) -> list[float]:
    """Adjusted p of statistics |t| against their resamples |t*|, the largest |t| first."""
    if not values:
        return []
    rising = np.argsort(values)
    largest = np.maximum.accumulate(np.array(stars)[rising])
    reached = np.count_nonzero(largest >= np.array(values)[rising, None], axis=1)
    adjusted = np.empty(len(values))
    falling = rising[::-1]
    adjusted[falling] = np.maximum.accumulate((1 + reached[::-1]) / (1 + largest.shape[1]))
    return [float(p) for p in adjusted]
