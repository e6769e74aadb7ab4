"""Evidence: the scan in memory, as columns to match on and bodies to serve, in rank order.

A scan touches many rows at once, where one look-up each would cost more than the matching; the rows
of 10,000 symbols are about 17 MB.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """A choice column: int16 codes into its labels, -1 where there is no evidence."""

    labels: Mapping[str, int]
    codes: npt.NDArray[np.int16]

    def equal(self, label: str) -> Mask:
        """The rows that carry a label."""
        found: Mask = self.codes == self.labels.get(label, -2)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """Every scan row of one night; row 0 is rank 1."""

    bodies: Sequence[bytes]
    """The stored ScanSetup of every rank."""
    numbers: Mapping[str, Numbers]
    """float64; NaN is no evidence."""
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
        rows = connection.execute("SELECT body FROM scan ORDER BY rank")
        return cls([body for (body,) in rows], numbers, labels)
