"""Look: how large a chart is drawn, and in which colours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Theme: TypeAlias = Literal["light", "dark"]
Width: TypeAlias = Literal[320, 720, 1200]

THEMES: Final[tuple[Theme, ...]] = ("light", "dark")
WIDTHS: Final[tuple[Width, ...]] = (320, 720, 1200)

HEIGHTS: Final[dict[Width, int]] = {320: 180, 720: 900, 1200: 675}
"""The height that goes with each width, pixels."""


@dataclass(frozen=True, slots=True)
class Look:
    """The theme and the width in pixels: 320 is a thumbnail, 720 for phones, 1200 the usual."""

    theme: Theme = "light"
    width: Width = 1200

    @property
    def height(self) -> int:
        """The height of the picture, pixels."""
        return HEIGHTS[self.width]


LOOKS: Final[Mapping[tuple[str, str], Look]] = {
    (theme, str(width)): Look(theme, width) for theme in THEMES for width in WIDTHS
}
"""Every look by its theme and width, as people write them."""

USUAL: Final = Look()
"""The look of the API's charts."""
