"""Sheet: the measures of a chart, in pixels, one table for each width."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from mcp_server.drawing.look import HEIGHTS, Width


@dataclass(frozen=True, slots=True)
class Row:
    """A row of facts by their names in `words.facts`, on a baseline.

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
    """Where everything stands on a chart of one width, and how large it is."""

    width: int
    height: int
    margin: int
    top: int
    bottom: int
    """The rows between which prices are drawn."""
    volume: tuple[int, int]
    """The rows between which volume is drawn; equal where it is not."""
    rows: tuple[Row, ...]
    date_baseline: int
    """Where dates stand."""
    flag_baseline: int
    """Where the breakout, the trigger's session and the fold are named."""
    fold: str
    """How the axis says that a candle holds some sessions from the fold on."""
    axis_size: int
    """Size of prices and dates, of flags and pills; 0 where nothing is written."""
    pill_height: int
    """Odd, so that a pill can be centred on a row."""
    pill_pad: int
    stacked: bool
    """Whether a pill has its price below its name."""
    shares: bool
    """Whether a pill says how far away a level is."""
    leader: int
    """Between the axis and the pills, for the leaders to pills that were moved."""
    price_gap: int
    """Smallest distance between two price labels."""
    fewest_dates: int
    """The date axis uses the coarsest unit of the calendar that gives this many labels."""
    context: float
    """Bars shown before a pattern, as a share of those from its start to breakout or today."""
    fewest_bars: int
    """Candles shown, if there are so many bars."""
    narrowest: int
    widest: int
    """Fewest and most pixels from one candle to the next."""
    line: float
    """Thickness of a trend line."""
    level: int
    """Thickness of the line of a level."""
    touch: float
    """Radius of a touch; 0 where touches are not drawn."""

    @property
    def written(self) -> bool:
        """Whether there is text on it."""
        return self.axis_size > 0


_USUAL = Sheet(
    width=1200,
    height=HEIGHTS[1200],
    margin=16,
    top=70,
    bottom=512,
    volume=(520, 578),
    rows=(
        Row(31, 15, ("name",), ("as_of",), lead="symbol", lead_size=21),
        Row(54, 14, ("status", "age", "attempt"), ("reward", "axis"), "pattern", 15),
        Row(631, 12, ("record",)),
        Row(649, 12, ("disclaimer",), ("source",), lines=2, step=16),
    ),
    date_baseline=599,
    flag_baseline=599,
    fold="from here {} sessions a candle",
    axis_size=13,
    pill_height=21,
    pill_pad=9,
    stacked=False,
    shares=True,
    leader=13,
    price_gap=46,
    fewest_dates=5,
    context=0.6,
    fewest_bars=60,
    narrowest=4,
    widest=44,
    line=2.0,
    level=1,
    touch=3.6,
)

_PHONE = Sheet(
    width=720,
    height=HEIGHTS[720],
    margin=16,
    top=158,
    bottom=594,
    volume=(606, 664),
    rows=(
        Row(42, 26, ("name",), ("attempt",), lead="symbol", lead_size=36),
        Row(78, 26, ("status",), lead="pattern", lead_size=28),
        Row(110, 24, ("as_of", "age")),
        Row(142, 24, ("levels", "short_reward")),
        Row(767, 24, ("short_record",), lines=2, step=29),
        Row(828, 24, ("axis",)),
        Row(859, 24, ("disclaimer",), lines=2, step=29),
    ),
    date_baseline=696,
    flag_baseline=731,
    fold="\N{RIGHTWARDS ARROW} {} sessions a candle",
    axis_size=24,
    pill_height=57,
    pill_pad=10,
    stacked=True,
    shares=False,
    leader=16,
    price_gap=70,
    fewest_dates=4,
    context=0.3,
    fewest_bars=45,
    narrowest=4,
    widest=40,
    line=3.2,
    level=2,
    touch=6.0,
)

_THUMBNAIL = Sheet(
    width=320,
    height=HEIGHTS[320],
    margin=5,
    top=6,
    bottom=174,
    volume=(174, 174),
    rows=(),
    date_baseline=0,
    flag_baseline=0,
    fold="",
    axis_size=0,
    pill_height=0,
    pill_pad=0,
    stacked=False,
    shares=False,
    leader=0,
    price_gap=46,
    fewest_dates=3,
    context=0.3,
    fewest_bars=40,
    narrowest=3,
    widest=14,
    line=1.8,
    level=3,
    touch=0.0,
)

SHEETS: Final[dict[Width, Sheet]] = {320: _THUMBNAIL, 720: _PHONE, 1200: _USUAL}
