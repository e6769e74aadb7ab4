"""Candles: open, high, low, close and volume of each candle shown, which may hold some sessions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mcp_server.drawing.axes import SessionAxis
from mcp_server.drawing.view import ChartView

OUTLIER = 5.0
"""The volume scale ends at so many medians; longer columns are cut."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Candles:
    """One value for each candle of a session axis. Volume is the mean of its sessions, NaN where it
    is not known; None if it is known of none.
    """

    open: Floats
    high: Floats
    low: Floats
    close: Floats
    volume: Floats | None

    @classmethod
    def of(cls, view: ChartView, sessions: SessionAxis) -> Candles:
        """The candles of a view on an axis."""
        starts, ends = np.array(sessions.edges[:-1]), np.array(sessions.edges[1:])
        return cls(
            open=np.array(view.open, np.float64)[starts],
            high=np.maximum.reduceat(np.array(view.high, np.float64), starts),
            low=np.minimum.reduceat(np.array(view.low, np.float64), starts),
            close=np.array(view.close, np.float64)[ends - 1],
            volume=_volume(view, starts, ends),
        )

    @property
    def busiest(self) -> float:
        """The volume at the top of its scale: the largest, unless it would flatten the rest."""
        if self.volume is None:
            return 0.0
        known = self.volume[self.volume > 0]
        return float(min(known.max(), OUTLIER * np.median(known)))

    @property
    def rising(self) -> npt.NDArray[np.bool_]:
        """Whether each closes at its open or above."""
        return self.close >= self.open


def _volume(
    view: ChartView, starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]
) -> Floats | None:
    if view.volume is None:
        return None
    known = np.array(view.volume, np.float64)
    mean = np.add.reduceat(np.where(known > 0, known, 0), starts) / (ends - starts)
    mean[~np.logical_or.reduceat(known >= 0, starts)] = np.nan
    return mean if np.nanmax(mean, initial=0) > 0 else None
