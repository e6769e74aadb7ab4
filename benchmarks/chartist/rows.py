"""Rows: the ratings that are kept of a round, one for each chart.

A row says which stretch of which symbol was rated and how, and has no place for a price.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from benchmarks.chartist.readings import Reading

FOLDER = Path(__file__).parent / "ratings"
"""The rounds that are kept."""


@dataclass(frozen=True, slots=True)
class Rating:
    """What two readers said of one chart. Dates are ISO text; older rounds lack some."""

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
    """The numbers that the judgement weighs (docs/detector.md section 5), if they were measured."""


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
        scores, reasons = (one.score, other.score), (one.reason, other.reason)
        rows.append(Rating(name, readers, **known, scores=scores, reasons=reasons))
    return rows


def read_ratings(path: Path) -> list[Rating]:
    """The ratings in a file. A field that a rating does not have is refused."""
    rows: list[dict[str, Any]] = json.loads(path.read_text())
    return [_rating(**row) for row in rows]


def _rating(scores: list[int], reasons: list[str], **rest: Any) -> Rating:  # noqa: ANN401
    one, other = scores
    said, replied = reasons
    return Rating(**rest, scores=(one, other), reasons=(said, replied))


def write_ratings(ratings: Sequence[Rating], path: Path) -> None:
    """Write a JSON list with one rating a line; what is unknown is left as null."""
    lines = ",\n".join(json.dumps(asdict(rating)) for rating in ratings)
    path.write_text(f"[\n{lines}\n]\n")
