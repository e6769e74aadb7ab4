"""The source: the interface to a collection of bars, and what it returns for one raw name.

A source is a small picklable value. A worker process receives it with the names of its symbols and
reads their bars itself. Nothing here knows a file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, Self

import numpy as np

from nightly.bars import Adjustment, Bars
from nightly.columns import BARS
from nightly.errors import Refusal

NUMBERS: Final = BARS[1:]

EMPTY: Final = Bars(np.zeros(0, np.int32), *(np.zeros(0) for _ in NUMBERS))


WEEKEND_SHARE: Final = 0.2
"""A series with a larger share of its bars on weekends trades every day; 2 of 7 is all of them."""


@dataclass(frozen=True, slots=True)
class Outline:
    """What a source knows of a raw name before its bars are loaded."""

    last_day: int
    """The day number of its newest bar."""
    weekends: bool = False
    """Whether it trades on weekends, as crypto does and no American exchange."""

    @classmethod
    def of(cls, last_day: int, bars: int, on_weekends: int) -> Self:
        """The outline of some bars, of which a number are on Saturdays and Sundays."""
        return cls(last_day, on_weekends > WEEKEND_SHARE * bars)


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """What a source has for one raw name: its raw bars and the findings, or why there are none."""

    name: str
    bars: Bars = EMPTY
    findings: Mapping[str, int] = field(default_factory=dict)
    refusal: Refusal | None = None
    adjustment: Adjustment | None = None
    """What the prices are adjusted for, where the form of the file tells; else None."""
    currency: str | None = None
    """The currency of the prices, where the file tells; else None."""


class BarSource(Protocol):
    """A collection of the daily bars of many symbols, under its own raw names."""

    def names(self) -> list[str]:
        """Every raw name, sorted. Neighbouring names are the cheapest to load together."""
        ...

    def load(self, names: Sequence[str]) -> Iterator[Loaded]:
        """The bars of some names, in their order, reading as few others as the format allows."""
        ...

    def outlines(self) -> dict[str, Outline]:
        """The outline of each raw name that has bars."""
        ...

    def digest(self) -> str:
        """The SHA-256 of everything that the source reads, in hex."""
        ...
