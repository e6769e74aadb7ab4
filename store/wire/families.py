"""The five pattern families, their labels, and the family of each detected pattern type."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, Literal

Direction = Literal["bullish", "bearish"]

QUALITY: Final = (
    "The chance that two chart readers, vision-language models, accept this drawing; it is "
    "not about the outcome."
)
"""What the quality of a setup means, wherever one is shown."""


class Family(StrEnum):
    """The five families, in the fixed order in which they are always listed."""

    RISING_WEDGE = "rising_wedge"
    FALLING_WEDGE = "falling_wedge"
    BULLISH_PENNANT = "bullish_pennant"
    BEARISH_PENNANT = "bearish_pennant"
    TRIANGLE = "triangle"

    @property
    def label(self) -> str:
        """The name people read, such as `Rising wedge`."""
        return self.value.replace("_", " ").capitalize()

    @property
    def directions(self) -> tuple[Direction, ...]:
        """The directions in which its patterns are traded."""
        if self is Family.TRIANGLE:
            return ("bullish", "bearish")
        rises = self in (Family.FALLING_WEDGE, Family.BULLISH_PENNANT)
        return ("bullish",) if rises else ("bearish",)

    @property
    def both_ways(self) -> bool:
        """Whether its patterns may break either way; every other family has one direction."""
        return len(self.directions) > 1


def family_of(pattern_type: str, direction: Direction) -> Family:
    """The family of a pattern type: squeezes are pennants of their direction, triangles are one.

    Raises:
        ValueError: the detector has no such pattern type.
    """
    if pattern_type == "squeeze_consolidation":
        return Family.BULLISH_PENNANT if direction == "bullish" else Family.BEARISH_PENNANT
    if pattern_type.endswith("_triangle"):
        return Family.TRIANGLE
    return Family(pattern_type)


def pattern_words(fields: Mapping[str, Any]) -> str:
    """The type where it says more than the family, as `Ascending triangle`, else the family."""
    words = str(fields["pattern_type"] or "").replace("_", " ")
    label = str(fields["family_label"])
    return words.capitalize() if words.endswith(label.lower()) else label
