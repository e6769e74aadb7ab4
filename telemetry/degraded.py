"""Degraded: what a serving process does worse than it should, while it goes on answering."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

Part = Literal["night", "new_night", "nights", "database", "counters", "loops", "charts", "restore"]

PARTS: tuple[Part, ...] = get_args(Part)


class Degraded(NamedTuple):
    """A part that is worse than it should be."""

    part: Part
    why: str
    """A sentence for anybody: it names no path, no address and no secret."""
