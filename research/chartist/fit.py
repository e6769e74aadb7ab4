"""Fit: the weights of the judgement, from the ratings of charts that were not set aside.

It is a logistic regression (ridge-penalised, one intercept for each kind) of "both readers accept"
on the clipped numbers of a shape; see Hastie, Tibshirani and Friedman, *The Elements of Statistical
Learning*, 4.4. The last round, the symbols set aside and the planted patterns are never used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from nightly.bars import Floats
from nightly.detector.judgement import PARTS, ScorePart, Weight
from research.chartist.charts import KINDS, SQUEEZES, TYPES
from research.chartist.ratings import ACCEPTED, Rating


def is_set_aside(symbol: str) -> bool:
    """Whether a symbol belongs to the third that is drawn only in the last round.

    Nothing is chosen on these symbols: no rule, no threshold, no weight. The rule depends on the
    name alone, so it holds for symbols that come later, too.
    """
    digest = blake2b(symbol.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % 3 == 0


RIDGE = 4.0
"""The penalty in the middle of the range (2 to 8) in which cross-validation does not change."""
STEPS = 50
FOLDS, REPEATS = 10, 8
BANDS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Table:
    """The numbers of charts, the kind of each and whether both readers accepted it."""

    parts: tuple[str, ...]
    numbers: Floats
    """[chart, part], clipped to the range of the part."""
    kinds: tuple[str, ...]
    member: Floats
    """[chart, kind], 1 for the kind of a chart."""
    accepted: Flags


@dataclass(frozen=True, slots=True)
class Model:
    """Log-odds per unit of each part, and those of each kind before any part counts."""

    each: Floats
    base: Floats

    def odds(self, table: Table) -> Floats:
        """The log-odds of each chart of a table."""
        odds: Floats = table.numbers @ self.each + table.member @ self.base
        return odds


def is_usable(rating: Rating) -> bool:
    """Whether a rating may teach: its shape is known and nothing is reported on it."""
    if rating.shape is None or (rating.plant or "").startswith("carved"):
        return False
    return rating.symbol is None or not is_set_aside(rating.symbol)


def weight_of(part: ScorePart, *, squeeze: bool) -> Weight:
    """The weight of a part in one of the two models."""
    return part.squeeze if squeeze else part.long


def table_of(ratings: Sequence[Rating], *, squeeze: bool) -> Table:
    """The usable ratings of squeezes, or of wedges and triangles."""
    rows = [one for one in ratings if is_usable(one) and (one.kind in SQUEEZES) == squeeze]
    weights = {part.name: weight_of(part, squeeze=squeeze) for part in PARTS}
    used = {name: weight for name, weight in weights.items() if weight.low < weight.high}
    columns = [
        np.clip([(one.shape or {})[name] for one in rows], weight.low, weight.high)
        for name, weight in used.items()
    ]
    kinds = tuple(kind for kind in KINDS if (kind in SQUEEZES) == squeeze)
    member = np.array([[float(one.kind == kind) for kind in kinds] for one in rows])
    accepted = np.array([min(one.scores) >= ACCEPTED for one in rows])
    return Table(tuple(used), np.column_stack(columns), kinds, member, accepted)


def fitted(table: Table, chosen: Flags, ridge: float = RIDGE) -> Model:
    """The model of the chosen charts, by Newton's method."""
    numbers = table.numbers[chosen]
    mean, spread = numbers.mean(0), numbers.std(0) + 1e-9
    rows = np.column_stack([np.ones(len(numbers)), (numbers - mean) / spread, table.member[chosen]])
    penalty = np.full(rows.shape[1], ridge)
    penalty[0] = 1e-9
    weights = np.zeros(rows.shape[1])
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-rows @ weights))
        curvature = rows.T @ (rows * (chance * (1 - chance))[:, None]) + np.diag(penalty)
        gradient = rows.T @ (table.accepted[chosen] - chance) - penalty * weights
        weights += np.linalg.solve(curvature, gradient)
    each = weights[1 : 1 + len(mean)] / spread
    return Model(each, weights[0] - float(each @ mean) + weights[1 + len(mean) :])


def predicted(table: Table) -> Floats:
    """The chance of each chart by models that did not see it, averaged over repeated folds."""
    total = np.zeros(len(table.accepted))
    for repeat in range(REPEATS):
        fold = np.random.default_rng(repeat).permutation(len(total)) % FOLDS
        for number in range(FOLDS):
            odds = fitted(table, fold != number).odds(table)
            total += np.where(fold == number, 1 / (1 + np.exp(-odds)), 0)
    return total / REPEATS


def ranking(chance: Floats, accepted: Flags) -> float:
    """How often an accepted chart has a higher chance than a rejected one (the AUC)."""
    above = chance[accepted][:, None] - chance[~accepted][None, :]
    return float(np.mean((above > 0) + 0.5 * (above == 0)))


def report(ratings: Sequence[Rating]) -> Iterator[str]:
    """The lines of text on both models: how well they predict, and their weights."""
    for squeeze, name in ((False, "wedges and triangles"), (True, "squeezes")):
        table = table_of(ratings, squeeze=squeeze)
        chance = predicted(table)
        yield f"{name}: {len(chance)} charts, {np.mean(table.accepted):.0%} accepted by both"
        yield f"  AUC of charts not seen: {ranking(chance, table.accepted):.3f}"
        for low, high in pairwise(BANDS):
            band = (chance >= low) & (chance < high)
            if band.any():
                yield (
                    f"  chance {low:.1f} to {high:.1f}: {int(band.sum()):4} charts, "
                    f"{np.mean(table.accepted[band]):.0%} accepted"
                )
        model = fitted(table, np.ones(len(chance), bool))
        for part, each in zip(table.parts, model.each, strict=True):
            yield f"  {part:18} {each:8.3f}"
        for kind, base in zip(table.kinds, model.base, strict=True):
            yield f"  {TYPES[kind].name:22} {base:8.3f}"
