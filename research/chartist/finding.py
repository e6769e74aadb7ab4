"""Finding: charts without lines, what readers mark on them, and what of it is served.

A reader sees 120 daily bars up to a random session and marks what is forming at the right edge:
the kind and two contacts of each line. A formation counts if one reader would publish it and the
other sees something of it. It is found if a forming setup of that session has a span that overlaps
by half, both lines near the marked ones today, and the name. A kept mark has no price: a contact
is a bar and its distance from that bar's extreme.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, StrictInt, TypeAdapter, model_validator

from research.chartist.charts import KINDS, DrawnLine, bar_of, gap_days, name_of
from research.chartist.ratings import FOLDER
from screener.nightly.bars import Bars
from screener.nightly.detector.detector import detect, line_values, log_atrs
from screener.nightly.detector.events import Rows
from screener.nightly.detector.kernel.versions import overlap, start_of
from screener.nightly.detector.parameters import Parameters

WINDOW = 120
"""Bars that a picture shows, numbered from 0."""
NEAR = 0.8
"""ATR today by which the lines of a find may be off the marked ones."""
OVERLAP = 0.5
DIGITS = 3

Contact = tuple[float, float]


class Mark(BaseModel):
    """What a reader marks on a chart: a score from 0 to 3, and from 1 on the kind and the lines."""

    model_config = ConfigDict(frozen=True)

    chart: StrictInt
    score: Annotated[StrictInt, Field(ge=0, le=3)]
    kind: str | None = None
    upper: tuple[Contact, Contact] | None = None
    """Two contacts, each the number of a bar and a price."""
    lower: tuple[Contact, Contact] | None = None

    @model_validator(mode="after")
    def _is_whole(self) -> Mark:
        if self.score and (self.kind not in KINDS or not self.upper or not self.lower):
            raise ValueError(f"Chart {self.chart} has a score but no kind or no lines.")
        return self


@dataclass(frozen=True, slots=True)
class View:
    """A stretch of a symbol's bars that is shown without lines."""

    symbol: str
    bars: Bars
    last: int

    @property
    def first(self) -> int:
        """The index of the bar that readers know as number 0."""
        return self.last - WINDOW + 1


@dataclass(frozen=True, slots=True)
class Seen:
    """A reader's mark as it is kept."""

    score: int
    kind: str | None = None
    upper: tuple[Contact, ...] = ()
    """Two contacts: the number of the bar, and how far the line is above that bar's high, in ATR of
    the last bar.
    """
    lower: tuple[Contact, ...] = ()
    """The same, above the low."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """A chart without lines and what its two readers marked."""

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")

    round: str
    readers: str
    symbol: str
    last: str
    """ISO date of the session."""
    seen: tuple[Seen, Seen]

    @property
    def is_formation(self) -> bool:
        """Whether one reader would publish it, and the other sees something of it."""
        scores = [one.score for one in self.seen]
        return max(scores) >= 2 and min(scores) >= 1


def views(
    market: Mapping[str, Bars], count: int, rng: np.random.Generator, drawn: Collection[str] = ()
) -> list[View]:
    """Random sessions of as many random symbols, none of them among those drawn before."""
    symbols = sorted(name for name, bars in market.items() if len(bars) > 400 and name not in drawn)
    rng.shuffle(symbols)
    chosen = symbols[:count]
    return [View(one, market[one], int(rng.integers(300, len(market[one])))) for one in chosen]


def read_marks(path: Path, numbers: Collection[int]) -> dict[int, Mark]:
    """The marks in a reader's file, by the number of the chart.

    Raises:
        ValueError: the answer does not mark each of the charts once, as the question asks.
    """
    marks = TypeAdapter(list[Mark]).validate_json(path.read_bytes())
    if sorted(mark.chart for mark in marks) != sorted(numbers):
        raise ValueError(f"{path.name}: not every chart is marked once.")
    return {mark.chart: mark for mark in marks}


def kept_mark(mark: Mark, view: View) -> Seen:
    """A mark without its prices."""
    if not mark.upper or not mark.lower:
        return Seen(mark.score)
    atr = float(log_atrs(view.bars.take(slice(0, view.last + 1)))[-1])
    upper, lower = (
        tuple(_offset(view, values, contact, atr) for contact in contacts)
        for values, contacts in ((view.bars.high, mark.upper), (view.bars.low, mark.lower))
    )
    return Seen(mark.score, mark.kind, upper, lower)


def _offset(view: View, values: np.ndarray, contact: Contact, atr: float) -> Contact:
    number, price = contact
    bar = min(max(round(number), 0), WINDOW - 1)
    extreme = math.log(values[view.first + bar])
    return float(bar), round((math.log(price) - extreme) / atr, DIGITS)


def write_sightings(sightings: Sequence[Sighting], path: Path) -> None:
    """Write a JSON list with one chart a line."""
    lines = ",\n".join(json.dumps(asdict(one)) for one in sightings)
    path.write_text(f"[\n{lines}\n]\n")


def read_sightings() -> list[Sighting]:
    """What readers marked in all rounds."""
    reader = TypeAdapter(list[Sighting])
    paths = sorted(FOLDER.glob("find-*.json"))
    return [one for path in paths for one in reader.validate_json(path.read_bytes())]


@dataclass(frozen=True, slots=True)
class Find:
    """How much of a formation is served on its session."""

    sighting: Sighting
    lines: bool
    """Span and lines fit."""
    named: bool
    """So does the name."""
    served: bool
    """Something is forming on that session, be it another formation."""


def find(sighting: Sighting, bars: Bars, parameters: Parameters) -> Find:
    """Compare what is forming on the session of a chart with what its readers marked."""
    last = bar_of(bars, sighting.last)
    if last is None:
        raise ValueError(f"{sighting.symbol} has no bar of {sighting.last}.")
    view = View(sighting.symbol, bars.take(slice(0, last + 1)), last)
    versions = detect(view.bars, parameters, gap_days=gap_days(sighting.symbol)).versions
    forming = versions[versions["end"] < 0]
    atr = float(log_atrs(view.bars)[-1])
    fits = [
        (name_of(int(version["type"])), seen)
        for version in forming
        for seen in sighting.seen
        if seen.score and _fits(version, seen, view, atr)
    ]
    kinds = {seen.kind for seen in sighting.seen if seen.score}
    return Find(sighting, bool(fits), any(name in kinds for name, _ in fits), len(forming) > 0)


def _fits(version: Rows, seen: Seen, view: View, atr: float) -> bool:
    upper, lower = marked_lines(seen, view, atr)
    start = min(upper.start, lower.start)
    if overlap(int(start_of(version)), view.last, start, view.last) < OVERLAP:
        return False
    values = line_values(version, view.last)
    marked = upper.at(view.last), lower.at(view.last)
    return all(abs(one - other) <= NEAR * atr for one, other in zip(values, marked, strict=True))


def marked_lines(seen: Seen, view: View, atr: float) -> tuple[DrawnLine, DrawnLine]:
    """The upper and the lower line that a reader marked."""
    upper = _line(seen.upper, view, view.bars.high, atr)
    return upper, _line(seen.lower, view, view.bars.low, atr)


def _line(contacts: Sequence[Contact], view: View, values: np.ndarray, atr: float) -> DrawnLine:
    ends = [
        (view.first + int(bar), math.log(values[view.first + int(bar)]) + offset * atr)
        for bar, offset in sorted(contacts)
    ]
    (start, value), (end, final) = ends
    return DrawnLine(start, value, (final - value) / max(end - start, 1))


def finds(
    sightings: Sequence[Sighting], market: Mapping[str, Bars], parameters: Parameters
) -> Iterator[Find]:
    """What is served of the formations that readers marked, for symbols that the market has."""
    for one in sightings:
        if one.is_formation and one.symbol in market:
            yield find(one, market[one.symbol], parameters)
