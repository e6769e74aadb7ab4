"""A market: the sample night with a scan of many rows, of all labels and with gaps.

The numbers of evidence that a list shows are those of its rows; the others are random.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from store.wire.view import PlanView, SetupView, gain
from tests.contract.market import active_book
from tests.resealed import reseal

COPIES = 26
"""So often each setup of the sample stands in the scan."""


def make_market(folder: Path) -> None:
    """Give the active night of a folder a scan of many rows."""
    reseal(folder, _fill)


def _fill(book: sqlite3.Connection) -> None:
    bodies = [body for (body,) in book.execute("SELECT body FROM scan ORDER BY rank")]
    rows = [_row(orjson.loads(bodies[n % len(bodies)]), n + 1) for n in range(COPIES * len(bodies))]
    book.execute("DELETE FROM scan")
    for row in rows:
        values = (row["rank"], row["status"], orjson.dumps(row))
        book.execute("INSERT INTO scan VALUES (?, ?, ?)", values)
    _keep_setups(book, rows, bodies)
    generator = np.random.default_rng(7)
    for name, labels, body in book.execute("SELECT * FROM evidence").fetchall():
        if name in SHOWN:
            filled = np.array([SHOWN[name](row) for row in rows], "<f8").tobytes()
        elif labels is None:
            filled = _numbers(np.tile(np.frombuffer(body, "<f8"), COPIES), generator)
        elif name in ("family", "status", "direction"):
            filled = np.tile(np.frombuffer(body, "<i2"), COPIES).tobytes()
        else:
            codes = generator.integers(-1, len(json.loads(labels)), len(rows))
            filled = codes.astype("<i2").tobytes()
        book.execute("UPDATE evidence SET body = ? WHERE name = ?", (filled, name))


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


def _keep_setups(
    book: sqlite3.Connection, rows: Sequence[dict[str, Any]], bodies: Sequence[bytes]
) -> None:
    """Keep each copy among the setups, with the entry of the setup that it is a copy of."""
    for row, body in zip(rows, list(bodies) * COPIES, strict=True):
        known = (orjson.loads(body)["setup_id"],)
        stored, evidence = book.execute(
            "SELECT body, evidence FROM setups WHERE setup_id = ?", known
        ).fetchone()
        setup = orjson.loads(stored)
        setup |= {name: row[name] for name in setup if name in row}
        values = (row["setup_id"], row["symbol"], orjson.dumps(setup), evidence)
        book.execute("INSERT INTO setups VALUES (?, ?, ?, ?)", values)


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


def _numbers(values: np.ndarray, generator: np.random.Generator) -> bytes:
    is_flag = bool(np.isin(values[~np.isnan(values)], (0, 1)).all())
    size = len(values)
    drawn = generator.integers(0, 2, size) if is_flag else generator.normal(20, 15, size).round(1)
    return np.where(generator.random(size) < 0.1, np.nan, drawn).astype("<f8").tobytes()


def evidence_of(folder: Path) -> dict[str, np.ndarray]:
    """The number columns of the active night, row 0 being rank 1."""
    with closing(active_book(folder)) as book:
        return dict(book.evidence.numbers)
