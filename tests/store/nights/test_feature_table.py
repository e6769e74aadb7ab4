"""The bodies of a scan: any rows can be read in any order."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import numpy as np

from store.nights.feature_table import Bodies

ROWS = 3_000


def test_the_rows_of_a_page_come_in_the_order_asked_for() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE scan (rank INTEGER PRIMARY KEY, body BLOB)")
        stored = [b"row %d" % row for row in range(ROWS)]
        connection.executemany("INSERT INTO scan VALUES (?, ?)", enumerate(stored, 1))
        bodies = Bodies(connection)
        generator = np.random.default_rng(1)

        assert len(bodies) == ROWS
        assert list(bodies) == stored
        for _ in range(100):
            rows = generator.integers(0, ROWS, 50).tolist()
            assert bodies.at(rows) == [stored[row] for row in rows]
