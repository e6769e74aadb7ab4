"""Sets: the pictures of one round in random order, and the key that says what each number is.

The key stays beside the pictures, on the machine that drew them: it holds prices, and a reader must
never see it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.chartist.charts import Chart, Line
from benchmarks.chartist.pictures import picture, sheets
from benchmarks.chartist.shapes import shape_of


def write_set(charts: Sequence[Chart], out: Path, seed: int) -> None:
    """Shuffle the charts, number them from 0 and write `pictures/` and `key.json`.

    Raises:
        FileExistsError: the folder has pictures of another set.
    """
    folder = out / "pictures"
    folder.mkdir(parents=True)
    order = np.random.default_rng(seed).permutation(len(charts))
    shuffled = [charts[index] for index in order]
    images = [picture(chart, number) for number, chart in enumerate(shuffled)]
    for number, image in enumerate(images):
        image.save(folder / f"{number:03d}.png")
    for number, sheet in enumerate(sheets(images)):
        sheet.save(folder / f"sheet-{number:02d}.png")
    key = {number: _entry(chart) for number, chart in enumerate(shuffled)}
    (out / "key.json").write_text(json.dumps(key, indent=1) + "\n")


def read_key(path: Path) -> dict[int, dict[str, Any]]:
    """What each number of a set is."""
    return {int(number): entry for number, entry in json.loads(path.read_text()).items()}


def _entry(chart: Chart) -> dict[str, Any]:
    return {
        "by": chart.by,
        "symbol": chart.symbol or None,
        "plant": chart.plant or None,
        "kind": chart.kind,
        "start": chart.date(chart.start).isoformat(),
        "last": chart.date(chart.last).isoformat(),
        "upper_start": chart.date(chart.upper.start).isoformat(),
        "lower_start": chart.date(chart.lower.start).isoformat(),
        "upper": _prices(chart.upper, chart.last),
        "lower": _prices(chart.lower, chart.last),
        "shape": shape_of(chart),
    }


def _prices(line: Line, last: int) -> list[float]:
    """The line's prices at its start and at the last bar."""
    return [math.exp(line.at(bar)) for bar in (line.start, last)]
