"""Lines: the trend lines and the pole over the sessions, and what of them is drawn."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mcp_server.drawing.axes import SessionAxis, session_index
from mcp_server.drawing.prices import PriceAxis
from mcp_server.drawing.view import ChartView, Point


@dataclass(frozen=True, slots=True)
class Ray:
    """A trend line over the session index: straight in log price."""

    start: float
    end: float
    log_start: float
    slope: float

    def price(self, index: float) -> float:
        """The line's price at a session index."""
        return math.exp(min(700.0, max(-700.0, self.log_start + self.slope * (index - self.start))))


def ray(dates: Sequence[dt.date], start: Point, end: Point) -> Ray:
    """The line through two dated points, by the index of their sessions."""
    first, last = session_index(dates, start[0]), session_index(dates, end[0])
    if last <= first:
        return Ray(first, first, math.log(start[1]), 0.0)
    slope = math.log(end[1] / start[1]) / (last - first)
    return Ray(first, last, math.log(start[1]), slope)


@dataclass(frozen=True, slots=True)
class Segment:
    """A straight stretch of a line between two pixel coordinates (x, y)."""

    start: tuple[float, float]
    end: tuple[float, float]
    dotted: bool


@dataclass(frozen=True, slots=True)
class Rays:
    """The two trend lines of a view, and the pole of a pennant."""

    upper: Ray
    lower: Ray
    pole: Ray | None

    @classmethod
    def of(cls, view: ChartView) -> Rays | None:
        """The lines over the indices of the sessions; None where none are drawn."""
        if view.upper is None or view.lower is None:
            return None
        upper = ray(view.dates, view.upper.start, view.upper.end)
        lower = ray(view.dates, view.lower.start, view.lower.end)
        return cls(upper, lower, None if view.pole is None else ray(view.dates, *view.pole))

    @property
    def start(self) -> float:
        """The session index where the pattern begins, or its pole."""
        starts = [line.start for line in (self.upper, self.lower, self.pole) if line is not None]
        return min(starts)

    def segments(self, view: ChartView, sessions: SessionAxis, prices: PriceAxis) -> list[Segment]:
        """Both lines; a forming pattern's go on, dotted."""
        reach = self._reach(view, sessions)
        drawn = []
        for line in (self.upper, self.lower):
            drawn.append(segment(line, line.start, line.end, sessions, prices))
            if reach > line.end:
                drawn.append(segment(line, line.end, reach, sessions, prices, dotted=True))
        return drawn

    def _reach(self, view: ChartView, sessions: SessionAxis) -> float:
        """The session index where a forming pattern's extension ends: right edge or apex."""
        if view.status != "forming":
            return -math.inf
        edge, closing = sessions.index(sessions.right - 4), self.lower.slope - self.upper.slope
        if closing <= 0:
            return edge
        end = max(self.upper.end, self.lower.end)
        width = math.log(self.upper.price(end) / self.lower.price(end))
        return min(edge, end + max(0.0, width / closing))

    def touches(
        self, view: ChartView, sessions: SessionAxis, prices: PriceAxis
    ) -> Iterator[tuple[float, float]]:
        """Where each touch is marked: on its line, at its bar."""
        for line, drawn in ((self.upper, view.upper), (self.lower, view.lower)):
            for date, _ in drawn.touches if drawn else ():
                index = session_index(view.dates, date)
                x, price = sessions.x(index), line.price(index)
                if sessions.left <= x < sessions.right and prices.holds(price):
                    yield x, prices.y(price)


def segment(
    line: Ray,
    start: float,
    end: float,
    sessions: SessionAxis,
    prices: PriceAxis,
    dotted: bool = False,
) -> Segment:
    """The stretch of a line between two session indices."""
    ends = [(sessions.x(at), prices.y(line.price(at))) for at in (start, end)]
    return Segment(ends[0], ends[1], dotted)
