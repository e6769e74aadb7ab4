"""Drawing: a setup as a picture, from its bars, lines and levels. Pure: same view, same bytes.

It knows no books, records or requests; what it reads is its own font, beside the code.
"""

from __future__ import annotations

from mcp_server.drawing.view import HEIGHT, WIDTH, ChartView, Point, TrendLine

__all__ = ["HEIGHT", "WIDTH", "ChartView", "Point", "TrendLine", "draw"]


def draw(view: ChartView) -> bytes:
    """The PNG of a view."""
    # Loaded by who draws alone: without Pillow a serving process takes 7 MB less.
    from mcp_server.drawing.chart import draw

    return draw(view)
