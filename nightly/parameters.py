"""The detector's parameters: all its thresholds, with their units and reasons.

Lengths are in bars, heights and tolerances in ATR; shares are between 0 and 1. There are no dollar
thresholds, so multiplying all prices changes nothing. `Parameters` is a NamedTuple because
`_asdict()` enters the data version.
"""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np


class Parameters(NamedTuple):
    """The parameters with their defaults; docs/detector.md sections 1 to 6 explain them."""

    # History and volatility.
    atr_bars: int = 14  # true ranges in the plain mean
    history_bars: int = 40  # bars before the first line
    atr_floor: float = 0.002  # log ATR below which a series is too quiet (stablecoins, bill ETFs)

    # Swings and lines.
    short_swing_order: int = 1  # bars on either side of a swing, short scale
    long_swing_order: int = 2  # finds 2 to 4 points more than 3 does; retreats remove small swings
    short_line_bars: int = 24  # life of a line from its first touch; half as long from its last
    long_line_bars: int = 130  # six months; longer lines belong to another time scale
    anchor_spacing: int = 2  # minimum bars between the two swings that draw a line
    line_slope_max: float = 0.6  # ATR per bar; steeper is a run, not a line
    touch_tolerance: float = 0.45  # ATR that a swing may stay short of the line and still touch it
    wick_tolerance: float = 0.5  # ATR beyond the line that an extreme may reach
    close_tolerance: float = 0.25  # ATR that a line moves outward at most to contain every close
    duplicate_tolerance: float = 0.08  # ATR; lines closer than this at both ends are the same line

    refit_touches: int = 2  # a line with this many touches is refitted to all of them; 0: never
    close_clearance: float = 0.2  # ATR that a refitted line keeps from every close

    # Touches: the next touch counts only after a retreat across the pattern.
    retreat_min: float = 0.55  # share of the width
    short_touch_spacing: int = 2  # bars
    long_touch_spacing: int = 3  # bars

    # Wedges and triangles (long scale).
    width_min: float = 0.2  # ATR between the lines today
    length_min: int = 15  # three weeks; anything shorter is a squeeze
    length_max: int = 130  # six months
    length_expiry: int = 150
    progress_min: float = 0.45  # share of the way to the apex; with less it may be a channel
    progress_max: float = 0.85  # both scales
    progress_expiry: float = 0.92  # both scales
    height_min: float = 4.5  # ATR at the later start; smaller is noise
    start_offset_max: float = 0.45  # share of the length before the second line starts
    recency_max: float = 0.45  # share of the length since the staler line's last touch
    touch_gap_max: float = 0.55  # share of the length without any touch
    early_tolerance: float = 0.25  # ATR beyond the later line before it starts, both scales
    wedge_touches: int = 5  # three on one line, two on the other
    triangle_touches: int = 4
    crossings_min: int = 4  # side changes in the touch sequence: price must fill the pattern
    later_crossings_min: int = 3  # the same for a later attempt, when a line was broken in between
    middle_move_max: float = 1.2  # widths the middle moves at most, else a trend; 0: any
    leg_min: float = 0.6  # share of the width by which price turns back at the end of a leg
    efficiency_min: float = 0.53  # length of all legs as a share of all moves; 0: any
    flat_slope: float = 0.12  # widths a flat line moves over the pattern at most
    wedge_slope: float = 0.15  # widths a wedge's line moves at least; the gap prevents flip-flop

    # Squeezes (short scale): a pole, then a small pattern that gives little of it back.
    squeeze_length_min: int = 5
    squeeze_length_max: int = 20
    squeeze_length_expiry: int = 26
    squeeze_progress_min: float = 0.25
    squeeze_start_offset_max: float = 0.6
    squeeze_recency_max: float = 0.7
    squeeze_touches: int = 4
    squeeze_crossings_min: int = 2
    pole_bars: int = 12  # bars before the tip in which the pole starts
    pole_height_min: float = 5.0  # ATR before the pole
    pole_speed_min: float = 0.7  # the same ATR, per bar
    pole_efficiency_min: float = 0.65  # net move of the pole as a share of all its moves; 0: any
    pole_retrace_max: float = 0.6  # share of the pole
    pole_width_max: float = 0.7  # width of the squeeze as a share of the pole
    drift_against_max: float = 1.2  # widths the middle may move against the pole
    drift_along_max: float = 0.35  # widths the middle may move along the pole

    # The book.
    quality_min: float = 74.0
    later_quality_min: float = 70.0  # the same for a later attempt
    squeeze_quality_min: float = 56.0
    overlap_min: float = 0.5  # intersection over union from which two spans are one formation
    cross_scale_overlap_min: float = 0.65
    replace_margin: float = 0.5  # quality that a new version must add
    same_lines_margin: float = 1.0  # the same if the new version merely redraws the lines
    same_lines_tolerance: float = 0.3  # ATR; lines closer than this today are the same line
    squeeze_over_long_margin: float = -4.0
    long_over_squeeze_margin: float = 12.0
    stale_share: float = 0.5  # share of the length without a touch
    stale_bars_min: int = 8

    # The plan and the approach.
    stop_distance_min: float = 1.5  # ATR from the broken line
    approach_bars: int = 20  # bars whose move into the pattern is recorded

    def record(self) -> Parameters:
        """The same fields as one numpy record, which the kernel takes as a single pointer."""
        # Types follow the defaults, so an int passed for a float does not recompile the kernel.
        kinds = [
            (name, "i8" if isinstance(default, int) else "f8")
            for name, default in self._field_defaults.items()
        ]
        return cast("Parameters", np.array([tuple(self)], np.dtype(kinds))[0])

    @classmethod
    def reference(cls) -> Parameters:
        """The parameters of the prototype, with which the kernel reproduces its event log."""
        return cls(
            anchor_spacing=3,
            touch_tolerance=0.35,
            duplicate_tolerance=0.15,
            refit_touches=0,
            progress_min=0.30,
            start_offset_max=0.33,
            middle_move_max=0.0,
            efficiency_min=0.0,
            pole_speed_min=0.6,
            pole_efficiency_min=0.0,
            pole_retrace_max=0.5,
            later_crossings_min=4,
            quality_min=65.0,
            later_quality_min=65.0,
            squeeze_quality_min=58.0,
            replace_margin=6.0,
        )


DETECTORS = {"default": Parameters(), "reference": Parameters.reference()}
"""The named parameter sets, for research and benchmarks. Nights use the default."""
