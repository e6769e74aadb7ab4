"""Distribution: how many trades ended at which multiple of their risk, in bins of half an R."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final

import numpy as np
import numpy.typing as npt
from pydantic import Field

from store.wire.families import Family
from store.wire.records import Count, Number, Record

EDGES: Final = tuple(step / 2 for step in range(-4, 17))
"""From -2 to 8 R. A loss at its stop is -1 R, which a bin holds that ends there."""


class Distribution(Record):
    """The R multiples of resolved first attempts, counted between edges.

    A bin excludes its lower edge and includes its upper one. The first bin is what is not over the
    first edge, and the last what is over the last edge.
    """

    family: Family | None = None
    """None for the trades of one ticker."""
    edges: Annotated[list[Number], Field(min_length=1)]
    counts: list[Count]
    """One more than there are edges."""

    @classmethod
    def of(
        cls, values: Sequence[float] | npt.NDArray[np.float64], family: Family | None = None
    ) -> Distribution:
        """The distribution of R multiples, rounded as they are served."""
        bins = np.searchsorted(EDGES, np.asarray(values, np.float64), side="left")
        counts = np.bincount(bins, minlength=len(EDGES) + 1)
        return cls(family=family, edges=list(EDGES), counts=counts.tolist())

    @property
    def trades(self) -> int:
        """All trades."""
        return sum(self.counts)
