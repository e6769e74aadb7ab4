"""The detector's parameters: all its thresholds, with their units and reasons.

Lengths are in bars, heights and tolerances in ATR; shares are between 0 and 1. There are no dollar
thresholds, so multiplying all prices changes nothing. `Parameters` is a NamedTuple because
`_asdict()` enters the data version.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple, cast

import numpy as np


class Parameters(NamedTuple):
    """The parameters with their defaults; docs/detector.md sections 1 to 6 explain them."""

    detector: int = 7  # version of the rules, which every record and manifest names

    # History and volatility.
    atr_bars: int = 14  # true ranges in the plain mean
    history_bars: int = 40  # bars before the first line
    atr_floor: float = 0.002  # log ATR below which a series is too quiet (stablecoins, bill ETFs)

    # Swings and lines.
    short_swing_order: int = 1  # bars on either side of a swing; a squeeze has no room for more
    long_swing_order: int = 2  # finds 2 to 4 points more than 3 does; retreats remove small swings
    short_line_bars: int = 30  # life of a line from its first touch: the longest squeeze
    long_line_bars: int = 130  # six months; longer lines belong to another time scale
    line_idle_share: float = 0.5  # share of that life since the last touch; then it is forgotten
    anchor_spacing: int = 3  # bars between the two swings that draw a line; closer ones are noise
    line_slope_max: float = 0.6  # ATR per bar; steeper is a run, not a line
    touch_tolerance: float = 0.45  # ATR that a swing may stay short of the line and still touch it
    wick_tolerance: float = 0.5  # ATR beyond the line that an extreme may reach
    close_tolerance: float = 0.25  # ATR that a line moves outward at most to contain every close
    duplicate_tolerance: float = 0.2  # ATR; lines closer than this at both ends are the same line
    refit_touches: int = 2  # a line with this many touches is fitted to all of them
    level_move: float = 0.35  # widths that the flatter line moves at most to be laid level
    level_share: float = 0.6  # share of the other line's move that it moves at most
    fit_slack: float = 0.05  # widths and shares by which a fit may bring a pair within the rules

    # Touches: the next touch counts only after a retreat across the pattern.
    retreat_min: float = 0.5  # share of the width; a flat top is one touch
    short_touch_spacing: int = 2  # bars
    long_touch_spacing: int = 3  # bars

    # Wedges and triangles (long scale).
    width_min: float = 0.2  # ATR between the lines today; narrower lines cannot be told apart
    length_min: int = 15  # three weeks; anything shorter is a squeeze
    length_max: int = 130  # six months
    length_expiry: int = 150  # bars of a setup that is served already
    progress_min: float = 0.2  # share of the way to the apex; with less it may be a channel
    progress_max: float = 0.95  # both scales; then little is left to trade
    progress_expiry: float = 0.97  # both scales; of a setup that is served already
    height_min: float = 2.0  # ATR at the later start; smaller is noise
    start_offset_max: float = 0.6  # share of the length before the second line starts
    recency_max: float = 0.7  # share of the length since the staler line's last touch
    touch_gap_max: float = 0.8  # share of the length without any touch: the lines hang
    early_tolerance: float = 0.6  # ATR beyond the later line before it starts, both scales
    wedge_touches: int = 4  # of both lines, at least two each
    triangle_touches: int = 4  # the same
    crossings_min: int = 2  # side changes in the touch sequence: price must fill the pattern
    flat_slope: float = (
        0.10  # widths a flat line moves over the pattern at most, a sloping one more
    )

    # Squeezes (short scale): a pole, then a small pattern that gives little of it back.
    squeeze_slope_min: float = 0.05  # widths each line moves inward at least; less is a flag
    squeeze_length_min: int = 6  # bars; readers call fewer a pause
    squeeze_length_max: int = 26  # bars; longer is a triangle
    squeeze_length_expiry: int = 30  # bars of a setup that is served already
    squeeze_progress_min: float = 0.25  # share; a squeeze has fewer bars to converge in
    squeeze_start_offset_max: float = 0.5  # share; the second line starts a leg after the tip
    squeeze_recency_max: float = 0.7  # share
    squeeze_touches: int = 4  # of both lines, at least two each
    squeeze_crossings_min: int = 2  # side changes; a squeeze has room for few legs
    tip_bars: int = 2  # bars between the tip of the pole and the first touch of a line at most
    pole_bars: int = 15  # bars before the tip in which the pole starts
    pole_bars_min: int = 3  # bars from base to tip; fewer are a jump
    pole_height_min: float = 4.0  # ATR before the pole
    pole_speed_min: float = 0.3  # the same ATR, per bar; slower is a trend
    pole_step_max: float = 0.5  # share of the pole that one close-to-close move may make
    pole_gap_max: float = 0.5  # share of the pole that one gap may make
    pole_straightness_min: float = 0.5  # net move of the pole as a share of all its moves
    pole_retrace_max: float = 0.5  # share of the pole; if more is given back, it is over
    pole_width_max: float = 0.7  # width of the squeeze as a share of the pole
    drift_against_max: float = 1.2  # widths the middle may move against the pole
    drift_along_max: float = 0.35  # widths the middle may move along the pole

    # Proportions and trading.
    bar_share_max: float = 0.75  # widths; a larger bar makes most of the shape
    squeeze_bar_share_max: float = 1.0  # the same for squeezes, whose bars are large against them
    gap_share_max: float = 0.4  # widths; a larger gap makes most of the shape
    thin_share_max: float = 0.1  # share of the bars that may have no range: quoted, not traded
    outside_min: float = 0.05  # share of the width from which a wick is beyond a line
    leg_min: float = 0.6  # share of the width by which price turns back at the end of a leg
    directness_min: float = 0.35  # length of all legs as a share of all moves; a walk wanders

    # The score and the book.
    nearness_min: float = 0.3  # ATR from a line that triggers; nearer, nobody can prepare
    quality_min: float = 72.0  # percent: then readers accept three of four of an evening
    fade_margin: float = 15.0  # percent below the minimum at which a served setup ends
    overlap_min: float = 0.5  # intersection over union from which two spans are one formation
    cross_scale_overlap_min: float = 0.65  # the same for a squeeze and a longer pattern
    replace_margin: float = 20.0  # quality that a new version must add: a drawing stays
    same_lines_tolerance: float = 0.3  # ATR; lines closer than this today are the same line
    return_bars: int = 6  # bars in which a formation that faded or was redrawn is not begun again
    squeeze_over_long_margin: float = -4.0  # of two good readings the one with a pole says more
    long_over_squeeze_margin: float = 12.0  # and is not given up lightly
    stale_share: float = 0.5  # share of the length without a touch
    stale_bars_min: int = 8  # bars without a touch in any case

    # The plan and the approach.
    stop_distance_min: float = 1.5  # ATR from the broken line
    approach_bars: int = 20  # bars whose move into the pattern is recorded

    def record(self) -> Parameters:
        """The fields as one numpy record, which the kernel takes as a single pointer."""
        return _record(self)


@cache
def _record(parameters: Parameters) -> Parameters:
    # Types follow the defaults, so an int passed for a float does not recompile the kernel.
    kinds = [
        (name, "i8" if isinstance(default, int) else "f8")
        for name, default in parameters._field_defaults.items()
    ]
    return cast("Parameters", np.array([tuple(parameters)], np.dtype(kinds))[0])


DEFAULTS = Parameters()
"""The parameters of every night."""
