"""Drawing: bars as a picture, with the lines and levels of a setup, or with past trades. Pure: same
view, same bytes.

It knows no books, records or requests. The only file it reads is its own font, beside the code.
"""

from __future__ import annotations

from mcp_server.drawing.look import THEMES, USUAL, WIDTHS, Look
from mcp_server.drawing.view import ChartView, Point, Record, TrendLine

__all__ = ["USUAL", "ChartView", "Look", "Point", "Record", "TrendLine", "draw", "prepare"]


def draw(view: ChartView, look: Look = USUAL) -> bytes:
    """The PNG of a view."""
    # Imported only where a chart is drawn: a serving process takes 7 MB less without Pillow.
    from mcp_server.drawing.chart import draw

    return draw(view, look)


def prepare() -> None:
    """Load what drawing needs, so that the first chart of this process is as fast as the next."""
    from mcp_server.drawing.specimen import specimen

    for width in WIDTHS:
        for theme in THEMES:
            draw(specimen(), Look(theme, width))
