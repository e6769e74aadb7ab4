"""Sheet: the measures of a chart, in pixels, one table for each width."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from mcp_server.drawing.view import Width


@dataclass(frozen=True, slots=True)
class FactRow:
    """A row of facts by their names in `text.facts`, on a baseline.

    The `lead` is written first, larger and bold; `right` facts end at the right margin. A row of
    several `lines` is wrapped, at `step` pixels from one to the next.
    """

    baseline: int
    size: int
    left: tuple[str, ...]
    right: tuple[str, ...] = ()
    lead: str = ""
    lead_size: int = 0
    lines: int = 1
    step: int = 0


@dataclass(frozen=True, slots=True)
class Sheet:
    """Where everything stands on a chart of one width, and how large it is; by default, on the
    usual one.
    """

    width: int = 1200
    margin: int = 16
    top: int = 70
    bottom: int = 494
    """The rows between which prices are drawn."""
    volume: tuple[int, int] = (502, 556)
    """The rows between which volume is drawn; equal where it is not."""
    rows: tuple[FactRow, ...] = (
        FactRow(31, 15, ("name",), ("as_of",), lead="symbol", lead_size=21),
        FactRow(54, 14, ("status", "quality", "age", "attempt"), ("reward", "axis"), "pattern", 15),
        FactRow(631, 12, ("record",)),
        FactRow(649, 12, ("disclaimer",), ("source",), lines=2, step=16),
    )
    date_baseline: int = 575
    """Where dates stand."""
    flag_baseline: int = 601
    """Where the breakout, the trigger's session and the fold are named."""
    fold: str = "from here {} sessions a candle"
    """How the axis says that a candle holds some sessions from the fold on."""
    axis_size: int = 13
    """Size of prices and dates, of flags and pills; 0 where nothing is written."""
    pill_height: int = 21
    """Odd, so that a pill can be centred on a row."""
    pill_pad: int = 9
    narrow: bool = False
    """Whether a pill has its price below its name. Then it does not say how far away the level is,
    and a running trade has no trigger.
    """
    leader: int = 13
    """Between the axis and the pills, for the leaders to pills that were moved."""
    price_gap: int = 46
    """Smallest distance between two price labels."""
    fewest_dates: int = 5
    """The date axis uses the coarsest unit of the calendar that gives this many labels."""
    context: float = 0.6
    """Bars shown before a pattern, as a share of those from its start to breakout or today."""
    fewest_bars: int = 60
    """Candles shown, if there are so many bars."""
    narrowest: int = 4
    widest: int = 44
    """Fewest and most pixels from one candle to the next."""
    line: float = 2.0
    """Thickness of a trend line."""
    level: int = 1
    """Thickness of the line of a level."""
    touch: float = 3.6
    """Radius of a touch; 0 where touches are not drawn."""

    @property
    def written(self) -> bool:
        """Whether there is text on it."""
        return self.axis_size > 0


_PHONE = Sheet(
    width=720,
    top=158,
    bottom=594,
    volume=(606, 664),
    rows=(
        FactRow(42, 26, ("name",), ("attempt",), lead="symbol", lead_size=36),
        FactRow(78, 26, ("status",), lead="pattern", lead_size=28),
        FactRow(110, 24, ("as_of", "quality", "age")),
        FactRow(142, 24, ("levels", "short_reward")),
        FactRow(767, 24, ("short_record",), lines=2, step=29),
        FactRow(828, 24, ("axis",)),
        FactRow(859, 24, ("disclaimer",), lines=2, step=29),
    ),
    date_baseline=696,
    flag_baseline=731,
    fold="\N{RIGHTWARDS ARROW} {} sessions a candle",
    axis_size=24,
    pill_height=57,
    pill_pad=10,
    narrow=True,
    leader=16,
    price_gap=70,
    fewest_dates=4,
    context=0.3,
    fewest_bars=45,
    widest=40,
    line=3.2,
    level=2,
    touch=6.0,
)

_THUMBNAIL = Sheet(
    width=320,
    margin=5,
    top=6,
    bottom=174,
    volume=(174, 174),
    rows=(),
    axis_size=0,
    narrow=True,
    context=0.3,
    fewest_bars=40,
    narrowest=3,
    widest=14,
    line=1.8,
    level=3,
    touch=0.0,
)

SHEETS: Final[dict[Width, Sheet]] = {320: _THUMBNAIL, 720: _PHONE, 1200: Sheet()}
