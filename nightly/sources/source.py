"""The source: what every place of bars can do, and what it gives for one raw name.

A source is a small picklable value: a worker process gets the value and the names of its symbols
and reads those itself. Nothing here knows a file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

import numpy as np

from nightly.bars import Bars
from nightly.columns import BARS
from nightly.errors import Refusal

NUMBERS: Final = BARS[1:]

EMPTY: Final = Bars(np.zeros(0, np.int32), *(np.zeros(0) for _ in NUMBERS))


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """What a source has for one raw name: its bars as they are, what was counted on the way, or
    why there are none.
    """

    name: str
    bars: Bars = EMPTY
    findings: Mapping[str, int] = field(default_factory=dict)
    refusal: Refusal | None = None


class BarSource(Protocol):
    """A place that holds the daily bars of many symbols, under raw names of its own."""

    def names(self) -> list[str]:
        """Every raw name, sorted; symbols near each other are cheapest to load together."""
        ...

    def load(self, names: Sequence[str]) -> Iterator[Loaded]:
        """The bars of some names, in their order, reading as little else as the format allows."""
        ...

    def last_days(self) -> dict[str, int]:
        """The day number of the newest bar of each raw name that has one, as cheaply as it goes."""
        ...

    def digest(self) -> str:
        """The SHA-256 of everything that the source reads, in hex."""
        ...
