"""Flags: what the date axis names besides dates: breakout, exit, fold, the trigger's session."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mcp_server.drawing import lettering
from mcp_server.drawing.axes import SessionAxis
from mcp_server.drawing.canvas import Box
from mcp_server.drawing.dates import near_label
from mcp_server.drawing.label import Label
from mcp_server.drawing.palette import Ink
from mcp_server.drawing.sheet import Sheet
from mcp_server.drawing.view import ChartView

GAP = 6
"""Pixels between two flags."""


@dataclass(frozen=True, slots=True)
class Flag:
    """Words in a coloured box at the date axis."""

    box: Box
    label: Label
    ink: Ink


def flags(view: ChartView, sessions: SessionAxis, sheet: Sheet) -> Iterator[Flag]:
    """The flags of a view, none over another: where there is no room for both, the earlier one
    gives way to the left, and is left out if it would leave the chart.
    """
    edge = sessions.right
    wanted = []
    if sessions.is_folded:
        text = sheet.fold.format(sessions.folded)
        wanted.append((text, sessions.fold_column, Ink.FOLD))
    if view.trigger is not None and view.entry is None and view.next_session is not None:
        text = f"Trigger for {near_label(view.next_session, view.as_of)}"
        wanted.append((text, sessions.right, Ink.TRIGGER))
    for name, point in (("Exit", view.exit), ("Breakout", view.entry)):
        if point is not None and (index := view.index(point)) is not None:
            text = f"{name} {near_label(point[0], view.as_of)}"
            half = lettering.width(text, sheet.axis_size, "SemiBold") // 2 + sheet.pill_pad
            if index >= sessions.first:
                wanted.append((text, int(sessions.x(index)) - half, Ink.ENTRY))
    for text, left, ink in wanted:
        width = lettering.width(text, sheet.axis_size, "SemiBold") + 2 * sheet.pill_pad
        left = min(max(sheet.margin, left), edge - width)
        if left >= 0:
            yield _flag(text, left, width, ink, sheet)
            edge = left - GAP


def _flag(text: str, left: int, width: int, ink: Ink, sheet: Sheet) -> Flag:
    size, baseline = sheet.axis_size, sheet.flag_baseline
    top = baseline - round(size * 1.16)
    box = (left, top, left + width, top + round(size * 1.65))
    label = Label(text, left + sheet.pill_pad, baseline, size, Ink.PAPER, "SemiBold")
    return Flag(box, label, ink)
