"""Drawing: bars as a picture, with the lines and levels of a setup, or with past trades. Pure: same
view, same bytes.

It knows no books, records or requests. The only file it reads is its own font, beside the code.
"""

from __future__ import annotations

import datetime as dt

from mcp_server.drawing.view import LOOKS, USUAL, ChartStyle, ChartView, TrendLine


def draw(view: ChartView, look: ChartStyle = USUAL) -> bytes:
    """The PNG of a view."""
    # Imported only where a chart is drawn: a serving process takes 7 MB less without Pillow.
    from mcp_server.drawing.chart import draw

    return draw(view, look)


def prepare() -> None:
    """Load what drawing needs, so that the first chart of this process is as fast as the next."""
    day = dt.date(2024, 1, 2)
    line, bar = TrendLine((day, 1.0), (day, 1.0), ((day, 1.0),)), [1.0]
    view = ChartView(
        "0123456789", "Triangle", "bullish", "forming", day, [day],
        bar, bar, bar, bar, (line, line), trigger=1.0, stop=0.9, target=1.1, volume=bar,
    )  # fmt: skip
    for look in LOOKS.values():
        draw(view, look)
