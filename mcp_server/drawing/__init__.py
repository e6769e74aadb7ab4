"""Drawing: a setup as a picture, from its bars, lines and levels. Pure: same view, same bytes.

It knows no books, records or requests; what it reads is its own font, beside the code.
"""

from __future__ import annotations

from mcp_server.drawing.chart import draw
from mcp_server.drawing.view import HEIGHT, WIDTH, ChartView, Line, Point

__all__ = ["HEIGHT", "WIDTH", "ChartView", "Line", "Point", "draw"]
