"""Feature table: the scan in rank order, as columns to match on and bodies to serve.

A scan matches every row, so the columns are kept in memory. It shows only one page of rows, so the
bodies are read when they are shown.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """A choice column: int16 codes into its labels, -1 for no evidence."""

    labels: Mapping[str, int]
    codes: npt.NDArray[np.int16]

    def words(self) -> list[str | None]:
        """The label of each row; None for no evidence."""
        names = {code: label for label, code in self.labels.items()}
        return [names.get(code) for code in self.codes.tolist()]

    def equal(self, label: str) -> Mask:
        """The rows that carry a label."""
        found: Mask = self.codes == self.labels.get(label, -2)
        return found


class Bodies:
    """The stored ScanSetup of every row."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._count: int = connection.execute("SELECT count(*) FROM scan").fetchone()[0]

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[bytes]:
        return (body for (body,) in self._connection.execute("SELECT body FROM scan ORDER BY rank"))

    def at(self, rows: Sequence[int]) -> list[bytes]:
        """The bodies of the rows of one page, in the order of `rows`."""
        ranks = [row + 1 for row in rows]
        query = f"SELECT rank, body FROM scan WHERE rank IN ({','.join('?' * len(ranks))})"  # noqa: S608
        bodies = dict(self._connection.execute(query, ranks))
        return [bodies[rank] for rank in ranks]


@dataclass(frozen=True, eq=False)
class FeatureTable:
    """Every scan row of one night; row 0 is rank 1."""

    bodies: Bodies
    numbers: Mapping[str, Numbers]
    """float64; NaN means no evidence."""
    labels: Mapping[str, Labels]

    @classmethod
    def read(cls, connection: sqlite3.Connection) -> FeatureTable:
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

    @cached_property
    def known(self) -> Mapping[str, Mask]:
        """The rows that have evidence, by the name of a column of either kind."""
        numbers = {name: ~np.isnan(column) for name, column in self.numbers.items()}
        return numbers | {name: column.codes >= 0 for name, column in self.labels.items()}
