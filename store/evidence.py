"""Evidence: the scan in rank order, as columns to match on and bodies to serve.

A scan matches every row, so the columns are kept in memory. It shows only one page of rows, mostly
of high rank, so only the bodies used last are kept; others are read when they are shown.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

KEPT_BODIES = 1024
"""Bodies kept in memory, about 2.6 KB each."""

Numbers = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """A choice column: int16 codes into its labels, -1 for no evidence."""

    labels: Mapping[str, int]
    codes: npt.NDArray[np.int16]

    def equal(self, label: str) -> Mask:
        """The rows that carry a label."""
        found: Mask = self.codes == self.labels.get(label, -2)
        return found


class Bodies:
    """The stored ScanSetup of every row. The ones used last are kept in memory."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._count: int = connection.execute("SELECT count(*) FROM scan").fetchone()[0]
        self._kept = lru_cache(KEPT_BODIES)(self._read)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[bytes]:
        return map(self._read, range(self._count))

    def at(self, rows: Iterable[int]) -> list[bytes]:
        """The bodies of some rows."""
        return [self._kept(row) for row in rows]

    def _read(self, row: int) -> bytes:
        query = "SELECT body FROM scan WHERE rank = ?"
        body: bytes = self._connection.execute(query, (row + 1,)).fetchone()[0]
        return body


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """Every scan row of one night; row 0 is rank 1."""

    bodies: Bodies
    numbers: Mapping[str, Numbers]
    """float64; NaN means no evidence."""
    labels: Mapping[str, Labels]

    @classmethod
    def read(cls, connection: sqlite3.Connection) -> Evidence:
        """The scan of a book."""
        numbers: dict[str, Numbers] = {}
        labels: dict[str, Labels] = {}
        for name, names, body in connection.execute("SELECT name, labels, body FROM evidence"):
            if names is None:
                numbers[name] = np.frombuffer(body, "<f8")
            else:
                positions = {label: code for code, label in enumerate(json.loads(names))}
                labels[name] = Labels(positions, np.frombuffer(body, "<i2"))
        return cls(Bodies(connection), numbers, labels)
