"""Names for the kernel's numbers: pattern types, directions and families."""

from __future__ import annotations

from functools import cache
from typing import cast

from nightly.events import PatternType
from store.wire.families import Direction, Family, family_of
from store.wire.records import PatternType as PatternTypeName

FAMILIES = tuple(Family)


@cache
def type_name(kind: int) -> PatternTypeName:
    """The name of a pattern type; a squeeze has one name for both directions."""
    pattern = PatternType(kind)
    if pattern in (PatternType.BULLISH_SQUEEZE, PatternType.BEARISH_SQUEEZE):
        return "squeeze_consolidation"
    return cast("PatternTypeName", pattern.name.lower())


def direction_name(sign: int) -> Direction:
    """`bullish` for +1, `bearish` for -1."""
    return "bullish" if sign > 0 else "bearish"


@cache
def family_index(kind: int) -> int:
    """The position of a pattern type's family among the five families."""
    direction: Direction = "bearish" if kind == PatternType.BEARISH_SQUEEZE else "bullish"
    return FAMILIES.index(family_of(type_name(kind), direction))


def is_symmetrical(kind: int) -> bool:
    """Whether a pattern is a symmetrical triangle, which may trigger on either side."""
    return kind == PatternType.SYMMETRICAL_TRIANGLE
