"""Acceptance: how many charts the readers would sign, by who drew them and by kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from benchmarks.chartist.charts import KINDS
from benchmarks.chartist.rows import Rating
from benchmarks.planted.measures import Rate, share

ACCEPTED = 2
"""The lowest score of an accepted chart."""

COLUMNS = ("by both %", "by A %", "by B %", "0 by either %", "agree %")
HEAD = f"{'':34} {'charts':>6}" + "".join(f"  {name:>13}" for name in COLUMNS) + "  mean  reasons"


@dataclass(frozen=True, slots=True)
class Acceptance:
    """What two readers, A and B, made of a group of charts."""

    both: Rate
    first: Rate
    second: Rate
    zero: Rate
    """Charts to which at least one reader gave 0."""
    agreement: Rate
    """Charts that both accepted or both rejected."""
    mean: float
    reasons: Counter[str]
    """Letters given to charts that were not accepted by both."""


def acceptance(ratings: Sequence[Rating]) -> Acceptance:
    """The acceptance of one or more charts."""
    signed = [tuple(score >= ACCEPTED for score in rating.scores) for rating in ratings]
    rejected = [one for one, said in zip(ratings, signed, strict=True) if not all(said)]
    return Acceptance(
        both=share([all(said) for said in signed]),
        first=share([one for one, _ in signed]),
        second=share([other for _, other in signed]),
        zero=share([0 in rating.scores for rating in ratings]),
        agreement=share([one == other for one, other in signed]),
        mean=fmean(score for rating in ratings for score in rating.scores),
        reasons=Counter(letter for one in rejected for letter in one.reasons if letter),
    )


def table(ratings: Sequence[Rating]) -> Iterator[str]:
    """The lines of a plain-text table of one round, with 95% intervals."""
    yield HEAD
    yield _row("all", ratings)
    for by, group in _groups(ratings, lambda rating: rating.by):
        yield ""
        yield _row(by, group)
        kinds = dict(_groups(group, lambda rating: rating.kind))
        yield from (_row(f"  {kind}", kinds[kind]) for kind in KINDS if kind in kinds)


def rounds(ratings: Sequence[Rating]) -> Iterator[str]:
    """The lines of a table for each round, under its name and its readers."""
    for name, group in _groups(ratings, lambda rating: rating.round):
        yield f"Round {name}, read by {' and by '.join(dict.fromkeys(r.readers for r in group))}"
        yield from table(group)
        yield ""


def _groups(
    ratings: Sequence[Rating], name: Callable[[Rating], str]
) -> list[tuple[str, list[Rating]]]:
    """The ratings by a name, in order of the names."""
    names = sorted({name(rating) for rating in ratings})
    return [(one, [rating for rating in ratings if name(rating) == one]) for one in names]


def _row(title: str, ratings: Sequence[Rating]) -> str:
    found = acceptance(ratings)
    rates = (found.both, found.first, found.second, found.zero, found.agreement)
    texts = (rate.text(digits=0).replace("-0", "0") for rate in rates)  # an end may be -1e-17
    shares = "".join(f"  {text:>13}" for text in texts)
    reasons = " ".join(f"{letter}{count}" for letter, count in found.reasons.most_common(4))
    return f"{title:34} {len(ratings):>6}{shares}  {found.mean:.2f}  {reasons}".rstrip()
