"""A market: the sample night with a scan of many rows, of all labels and with gaps.

The numbers of evidence that a list shows are those of its rows; the others are random.
"""

from __future__ import annotations

import copy
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from store.wire.view import PlanView, SetupView, gain
from tests.books import Content
from tests.contract.market import active_book
from tests.resealed import reseal

COPIES = 26
"""So often each setup of the sample stands in the scan."""


def make_market(folder: Path) -> None:
    """Give the active night of a folder a scan of many rows."""
    reseal(folder, _fill)


def _fill(content: Content) -> None:
    copied = [copy.deepcopy(row) for row in content.scan * COPIES]
    content.scan = [_row(row, rank) for rank, row in enumerate(copied, 1)]
    for row, known in zip(content.scan, copied, strict=True):
        setup, evidence = content.setups[known["setup_id"]]
        setup = setup | {name: row[name] for name in setup if name in row}
        content.setups[row["setup_id"]] = setup, evidence
    generator = np.random.default_rng(7)
    for name, column in content.evidence.items():
        if name in SHOWN:
            content.evidence[name] = np.array([SHOWN[name](row) for row in content.scan], "<f8")
        elif not isinstance(column, list):
            content.evidence[name] = _numbers(np.tile(column, COPIES), generator)
        elif name in ("family", "status", "direction"):
            content.evidence[name] = column * COPIES
        else:
            labels = sorted({label for label in column if label is not None})
            codes = generator.integers(-1, len(labels), len(copied))
            content.evidence[name] = [[*labels, None][code] for code in codes]


def _row(row: dict[str, Any], rank: int) -> dict[str, Any]:
    """A copy under an id of its own, with a stop, a distance and a gain of its own."""
    plan, away = row["plans"][0], 1 + rank * 37 % 101 / 100
    stop = plan["trigger_price"] + (plan["stop_price"] - plan["trigger_price"]) * away
    row["plans"][0] = plan | {"stop_price": round(stop, 4)}
    _, row["gain_r"] = gain(PlanView.of(row["plans"][0], row["entry_price"]), row["last_close"])
    distance, typical = row["distance_to_trigger_pct"], row["expected_gain_pct"]
    return row | {
        "rank": rank,
        "setup_id": f"setup{rank:04}",
        "lineage_id": f"lineage{rank:04}",
        "distance_to_trigger_pct": round(distance * away, 2),
        "expected_gain_pct": None
        if typical is None or rank % 10 == 0
        else round(typical * away, 2),
    }


def _gain(row: dict[str, Any]) -> float:
    gain = row["expected_gain_pct"]
    return np.nan if gain is None else float(gain)


def _expected_r(row: dict[str, Any]) -> float:
    expected = SetupView.of(row).expected_r
    return np.nan if expected is None else expected


SHOWN = {
    "dist_to_entry": lambda row: row["distance_to_trigger_pct"],
    "typical_return": _gain,
    "min_expected_r": _expected_r,
}
"""The columns of evidence that a list of setups shows, each from its row."""


def _numbers(values: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    is_flag = bool(np.isin(values[~np.isnan(values)], (0, 1)).all())
    size = len(values)
    drawn = generator.integers(0, 2, size) if is_flag else generator.normal(20, 15, size).round(1)
    return np.where(generator.random(size) < 0.1, np.nan, drawn)


def evidence_of(folder: Path) -> dict[str, np.ndarray]:
    """The number columns of the active night, row 0 being rank 1."""
    with closing(active_book(folder)) as book:
        return dict(book.features.numbers)
