"""Ratings: the answers of readers, what is kept of them, and how many charts they would sign.

A rating says which stretch of which symbol was rated and how, and has no place for a price.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictInt, TypeAdapter

from research.chartist.charts import KINDS
from research.planted.measures import Rate, share


class Reading(BaseModel):
    """A reader's score of one chart, and the letter of what spoils it, or nothing.

    `briefing.md` says what the letters mean.
    """

    model_config = ConfigDict(frozen=True)

    chart: StrictInt
    score: Annotated[StrictInt, Field(ge=0, le=3)]
    reason: Literal["", "T", "P", "N", "S", "G", "L", "O"] | None = ""


def read_readings(path: Path, numbers: Collection[int]) -> dict[int, Reading]:
    """The readings in a reader's file, by the number of the chart.

    Raises:
        ValueError: the answer does not rate each of the charts once, as the briefing asks.
    """
    try:
        return checked(json.loads(path.read_text()), numbers)
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from error


def checked(answer: Sequence[Mapping[str, Any]], numbers: Collection[int]) -> dict[int, Reading]:
    """The readings of an answer, by the number of the chart.

    Raises:
        ValueError: the answer does not rate each of the charts once, as the briefing asks.
    """
    readings: dict[int, Reading] = {}
    for reading in TypeAdapter(list[Reading]).validate_python(answer):
        if reading.chart in readings:
            raise ValueError(f"Chart {reading.chart} is rated twice.")
        readings[reading.chart] = reading
    if missing := sorted(set(numbers) - set(readings)):
        raise ValueError(f"Not rated: {', '.join(map(str, missing))}.")
    if unknown := sorted(set(readings) - set(numbers)):
        raise ValueError(f"No such chart: {', '.join(map(str, unknown))}.")
    return readings


FOLDER = Path(__file__).parent / "ratings"
"""The rounds that are kept."""


@dataclass(frozen=True, slots=True)
class Rating:
    """What two readers said of one chart. Dates are ISO text; older rounds lack some."""

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")

    round: str
    readers: str
    by: str
    symbol: str | None
    plant: str | None
    kind: str
    start: str | None
    last: str
    upper_start: str | None
    lower_start: str | None
    scores: tuple[int, int]
    reasons: tuple[str, str]
    shape: Mapping[str, float] | None = None
    """The numbers that the judgement weighs (see README.md), if they were measured."""
    quality: float | None = None
    """The quality in percent that the drawing was served with, if it was."""


def join(
    key: Mapping[int, Mapping[str, Any]],
    readings: tuple[Mapping[int, Reading], Mapping[int, Reading]],
    name: str,
    readers: str,
) -> list[Rating]:
    """The ratings of a round: its key joined with the readings of its two readers."""
    kept = {field.name for field in fields(Rating)}
    rows = []
    for number, entry in key.items():
        one, other = (reader[number] for reader in readings)
        known = {field: value for field, value in entry.items() if field in kept}
        scores = one.score, other.score
        reasons = one.reason or "", other.reason or ""
        rows.append(Rating(name, readers, **known, scores=scores, reasons=reasons))
    return rows


def read_ratings(path: Path) -> list[Rating]:
    """The ratings in a file. A field that a rating does not have is refused."""
    return TypeAdapter(list[Rating]).validate_json(path.read_bytes())


def write_ratings(ratings: Sequence[Rating], path: Path) -> None:
    """Write a JSON list with one rating a line; what is unknown is left as null."""
    lines = ",\n".join(json.dumps(asdict(rating)) for rating in ratings)
    path.write_text(f"[\n{lines}\n]\n")


def spans_of(ratings: Sequence[Rating]) -> dict[str, list[tuple[str, str]]]:
    """The first and the last day of the rated charts of each symbol."""
    spans: dict[str, list[tuple[str, str]]] = {}
    for one in ratings:
        if one.symbol is not None:
            spans.setdefault(one.symbol, []).append((one.start or one.last, one.last))
    return spans


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
