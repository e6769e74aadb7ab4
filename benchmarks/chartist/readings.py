"""Readings: the answer of one reader to one set."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SCORES = range(4)
REASONS = {
    "T": "too few touches or a line that hangs",
    "P": "no flagpole",
    "N": "wrong name",
    "S": "too steep or short",
    "G": "dominated by one gap or bar",
    "L": "lines cut through prices",
    "O": "other",
}


@dataclass(frozen=True, slots=True)
class Reading:
    """A reader's score of one chart, and the letter of what spoils it, or nothing."""

    chart: int
    score: int
    reason: str


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
    for item in answer:
        reading = _reading(item)
        if reading.chart in readings:
            raise ValueError(f"Chart {reading.chart} is rated twice.")
        readings[reading.chart] = reading
    if missing := sorted(set(numbers) - set(readings)):
        raise ValueError(f"Not rated: {', '.join(map(str, missing))}.")
    if unknown := sorted(set(readings) - set(numbers)):
        raise ValueError(f"No such chart: {', '.join(map(str, unknown))}.")
    return readings


def _reading(item: Mapping[str, Any]) -> Reading:
    if not isinstance(item, dict) or not {"chart", "score"} <= set(item):
        raise ValueError(f"A reading needs a chart and a score: {item!r}.")
    chart, score, reason = item["chart"], item["score"], item.get("reason") or ""
    if type(chart) is not int:
        raise ValueError(f"The number of a chart is an integer, not {chart!r}.")
    if type(score) is not int or score not in SCORES:
        raise ValueError(f"Chart {chart}: a score is 0, 1, 2 or 3, not {score!r}.")
    if reason and reason not in REASONS:
        raise ValueError(f"Chart {chart}: a reason is one of {' '.join(REASONS)}, not {reason!r}.")
    return Reading(chart, score, reason)
