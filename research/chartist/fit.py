"""Fit: the trees of the judgement, from the ratings of charts that were not set aside.

Readers' ratings are few, so planted patterns and decoys of training seeds teach beside them
(`lessons`), with a weight of their own. The last round, the symbols set aside and the seeds on
which figures are reported are never used. A pattern and its mirror image have the same numbers, so
one model serves both.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from io import StringIO
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from research.chartist.boosting import Settings, boosted, odds_of
from research.chartist.charts import SQUEEZES
from research.chartist.lessons import Lesson
from research.chartist.parts import PARTS, UNUSED
from research.chartist.ratings import ACCEPTED, Rating
from screener.nightly.bars import Floats
from screener.nightly.detector.judgement import Trees, read_trees
from screener.nightly.detector.kernel.shape import Shape
from screener.nightly.detector.parameters import Parameters


def is_set_aside(symbol: str) -> bool:
    """Whether a symbol belongs to the third that is drawn only in the last round.

    Nothing is chosen on these symbols: no rule, no threshold, no weight. The rule depends on the
    name alone, so it holds for symbols that come later, too.
    """
    return _digest(symbol) % 3 == 0


def _digest(symbol: str) -> int:
    return int.from_bytes(blake2b(symbol.encode(), digest_size=8).digest(), "big")


SETTINGS = Settings(trees=80, rate=0.1, ridge=6.0, least=15.0)
"""As good as 240 trees, by the folds below, at half the cost of a score."""
OLDER = {False: 0.3, True: 1.0}
"""The weight of a rating of a drawing at its best, which rounds 1 to 14 have, against one of a
drawing on a random session: of wedges and triangles, of squeezes.
"""
TAUGHT = {False: 0.3, True: 1.0}
"""The weight of all lessons against the number of ratings on random sessions."""
SHARES = {"plant": 0.7, "decoy": 0.3}
"""How that weight is shared out."""
FOLDS = 8
FLAT_KINDS = ("ascending triangle", "descending triangle")
BANDS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
DIGITS = 5

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Table:
    """The numbers of drawings, which of them are accepted, and how much each counts."""

    numbers: Floats
    """[drawing, part]"""
    accepted: Floats
    weight: Floats
    fold: npt.NDArray[np.int64]
    """The fold of the drawing's symbol; -1 if it always teaches."""

    def of(self, rows: Flags) -> Table:
        """Some of the drawings."""
        return Table(self.numbers[rows], self.accepted[rows], self.weight[rows], self.fold[rows])


def is_usable(rating: Rating) -> bool:
    """Whether a rating may teach: its shape is known and nothing is reported on it."""
    return (
        rating.shape is not None
        and rating.symbol is not None
        and not is_set_aside(rating.symbol)
        and set(rating.shape) == set(Shape._fields)
        and is_named_today(rating.kind, rating.shape)
    )


def is_named_today(kind: str, shape: Mapping[str, float]) -> bool:
    """Whether a triangle with a flat line would have that name today.

    Readers refused older ones for their name: a line that moved by 0.10 to 0.15 widths was flat.
    """
    return kind not in FLAT_KINDS or abs(shape["inward"]) <= Parameters().flat_slope


def is_evening(rating: Rating) -> bool:
    """Whether a drawing was rated as it stood on a random session, not at its best."""
    return rating.round.startswith("evening")


def used(*, squeeze: bool) -> dict[str, int]:
    """The parts that a model uses, each with what more of it may do."""
    signs = {part.name: part.squeeze if squeeze else part.long for part in PARTS}
    return {name: sign for name, sign in signs.items() if sign != UNUSED}


def table_of(ratings: Sequence[Rating], lessons: Sequence[Lesson], *, squeeze: bool) -> Table:
    """The usable ratings of squeezes, or of wedges and triangles, and the lessons beside them."""
    rated = [one for one in ratings if is_usable(one) and (one.kind in SQUEEZES) == squeeze]
    taught = [one for one in lessons if (one.kind in SQUEEZES) == squeeze]
    counts = {source: sum(one.source == source for one in taught) for source in SHARES}
    weights = [1.0 if is_evening(one) else OLDER[squeeze] for one in rated]
    whole = TAUGHT[squeeze] * sum(is_evening(one) for one in rated)
    shapes = [dict(one.shape or {}) for one in rated] + [dict(one.shape) for one in taught]
    numbers = np.array([[shape[name] for name in used(squeeze=squeeze)] for shape in shapes])
    return Table(
        np.round(numbers, DIGITS),  # as ratings are kept
        np.array(
            [float(min(one.scores) >= ACCEPTED) for one in rated]
            + [float(one.accepted) for one in taught]
        ),
        np.array(weights + [whole * SHARES[one.source] / counts[one.source] for one in taught]),
        np.array([_digest(one.symbol or "") // 3 % FOLDS for one in rated] + [-1] * len(taught)),
    )


def fitted(table: Table, *, squeeze: bool) -> Trees:
    """The trees that a table teaches."""
    signs = np.array(list(used(squeeze=squeeze).values()))
    return boosted(table.numbers, table.accepted, table.weight, signs, SETTINGS)


def predicted(table: Table, *, squeeze: bool) -> Floats:
    """The chance of each rated drawing by trees that saw no chart of its symbol."""
    rated = table.fold >= 0
    odds = np.zeros(len(table.fold))
    for number in range(FOLDS):
        held = table.fold == number
        odds[held] = odds_of(fitted(table.of(~held), squeeze=squeeze), table.numbers[held])
    chance: Floats = 1 / (1 + np.exp(-odds[rated]))
    return chance


def scored_now(rating: Rating) -> Rating:
    """A rating of a drawing whose shape is known, with the quality by the score of today."""
    squeeze, shape = rating.kind in SQUEEZES, rating.shape or {}
    trees = read_trees("squeeze" if squeeze else "long", Shape._fields)
    (odds,) = odds_of(trees, np.array([[shape[name] for name in Shape._fields]]))
    return replace(rating, quality=float(100 / (1 + np.exp(-odds))))


def ranking(chance: Floats, accepted: Flags) -> float:
    """How often an accepted chart has a higher chance than a rejected one (the AUC)."""
    above = chance[accepted][:, None] - chance[~accepted][None, :]
    return float(np.mean((above > 0) + 0.5 * (above == 0)))


def report(ratings: Sequence[Rating], lessons: Sequence[Lesson]) -> Iterator[str]:
    """The lines of text on how well both models predict drawings on random sessions of symbols
    that they did not see.
    """
    for squeeze, name in ((False, "wedges and triangles"), (True, "squeezes")):
        table = table_of(ratings, lessons, squeeze=squeeze)
        rated = [one for one in ratings if is_usable(one) and (one.kind in SQUEEZES) == squeeze]
        evening = np.array([is_evening(one) for one in rated])
        accepted = (table.accepted[table.fold >= 0] > 0)[evening]
        chance = predicted(table, squeeze=squeeze)[evening]
        yield f"{name}: {len(chance)} charts, {np.mean(accepted):.0%} accepted by both"
        yield f"  AUC of charts not seen: {ranking(chance, accepted):.3f}"
        for low, high in pairwise(BANDS):
            band = (chance >= low) & (chance < high)
            if band.any():
                yield (
                    f"  chance {low:.1f} to {high:.1f}: {int(band.sum()):4} charts, "
                    f"{np.mean(accepted[band]):.0%} accepted"
                )


def trees_file(ratings: Sequence[Rating], lessons: Sequence[Lesson]) -> str:
    """What `judgement.csv` of the detector holds: for each kind its base, then a tree a line."""
    text = StringIO()
    rows = csv.writer(text, lineterminator="\n")
    for squeeze, kind in ((False, "long"), (True, "squeeze")):
        trees = fitted(table_of(ratings, lessons, squeeze=squeeze), squeeze=squeeze)
        names = list(used(squeeze=squeeze))
        rows.writerow([kind, round(trees.base, DIGITS)])
        for part, bound, leaf in zip(trees.part, trees.bound, trees.leaf, strict=True):
            numbers = [round(float(number), DIGITS + 1) for number in (*bound[1:], *leaf)]
            rows.writerow([kind, *(names[place] for place in part[1:]), *numbers])
    return text.getvalue()
