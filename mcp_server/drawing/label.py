"""Label: a line of text and the room it takes."""

from __future__ import annotations

from dataclasses import dataclass

from mcp_server.drawing import lettering
from mcp_server.drawing.canvas import Box
from mcp_server.drawing.lettering import Weight
from mcp_server.drawing.palette import Ink


@dataclass(frozen=True, slots=True)
class Label:
    """A line of text: the pen starts at `left` on `baseline`; `box` is the room it takes."""

    text: str
    left: int
    baseline: int
    size: int
    ink: Ink
    weight: Weight = "Regular"

    @property
    def right(self) -> int:
        """The pixel after its last letter."""
        return self.left + lettering.width(self.text, self.size, self.weight)

    @property
    def box(self) -> Box:
        """The room of the text, from above the capitals to below the descenders."""
        top = self.baseline - round(self.size * 0.8)
        return self.left, top, self.right, self.baseline + round(self.size * 0.25)


def overlaps(one: Box, other: Box, gap: int = 0) -> bool:
    """Whether two boxes share a pixel, or are less than `gap` pixels apart."""
    return (
        one[0] < other[2] + gap
        and other[0] < one[2] + gap
        and one[1] < other[3] + gap
        and other[1] < one[3] + gap
    )
