"""A market: the sample night with a scan of many rows, of all labels and with gaps."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import numpy as np
import orjson

from store.nights import Nights
from tests.resealed import reseal

COPIES = 26
"""So often each setup of the sample stands in the scan."""


def make_market(folder: Path) -> None:
    """Give the active night of a folder a scan of many rows."""
    reseal(folder, _fill)


def _fill(book: sqlite3.Connection) -> None:
    bodies = [body for (body,) in book.execute("SELECT body FROM scan ORDER BY rank")]
    rows = [orjson.loads(bodies[n % len(bodies)]) for n in range(COPIES * len(bodies))]
    book.execute("DELETE FROM scan")
    for rank, row in enumerate(rows, 1):
        row |= {"rank": rank, "setup_id": f"setup{rank:04}"}
        book.execute("INSERT INTO scan VALUES (?, ?, ?)", (rank, row["status"], orjson.dumps(row)))
    generator = np.random.default_rng(7)
    for name, labels, body in book.execute("SELECT * FROM evidence").fetchall():
        if labels is None:
            filled = _numbers(np.tile(np.frombuffer(body, "<f8"), COPIES), generator)
        elif name in ("family", "status", "direction"):
            filled = np.tile(np.frombuffer(body, "<i2"), COPIES).tobytes()
        else:
            codes = generator.integers(-1, len(json.loads(labels)), len(rows))
            filled = codes.astype("<i2").tobytes()
        book.execute("UPDATE evidence SET body = ? WHERE name = ?", (filled, name))


def _numbers(values: np.ndarray, generator: np.random.Generator) -> bytes:
    is_flag = bool(np.isin(values[~np.isnan(values)], (0, 1)).all())
    size = len(values)
    drawn = generator.integers(0, 2, size) if is_flag else generator.normal(20, 15, size).round(1)
    return np.where(generator.random(size) < 0.1, np.nan, drawn).astype("<f8").tobytes()


def evidence_of(folder: Path) -> dict[str, np.ndarray]:
    """The number columns of the active night, row 0 being rank 1."""
    nights = Nights(folder)
    path = nights.folder / nights.check_active().book.file
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as book:
        columns = book.execute("SELECT name, body FROM evidence WHERE labels IS NULL").fetchall()
    book.close()
    return {name: np.frombuffer(body, "<f8") for name, body in columns}
