"""Cleaning: which of a symbol's raw bars are analysed, and how they are corrected.

Every rule counts the bars it affects under its name (`nightly.rules` explains each). A price is
never made up: bars are dropped, a range is widened to contain its own open and close, the
reference's splits are applied, and years without trading before the current ones are dropped.
`nightly.doubt` decides whether the remaining bars can be trusted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from nightly.bars import Adjustment, Bars, to_day
from nightly.doubt import FLAT_BARS, FLAT_SHARE, GAP_DAYS, USUAL_BARS, doubt, rest
from nightly.errors import Refusal
from nightly.reference import AssetType, Split

REUSE_DAYS: Final = 90
"""A longer gap in calendar days separates two owners of one ticker."""

OUTSIDE: Final = 0.01
"""An open or close further beyond the range than this is a contradiction; less is rounding."""

MISPRINT: Final = 2.0
"""An open over this many times both closes beside it, or under this fraction, is a misprint ..."""
MISPRINT_VOLUME: Final = 5.0
"""... unless the day's volume is over this many times the median of the days before."""
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Cleaned:
    """The bars to analyse (none if the symbol is refused outright) and the findings.

    If a refusal has `analysed` set, the bars stay: they count in the statistics, but nothing
    current is served from them.
    """

    bars: Bars
    findings: Mapping[str, int]
    refusal: Refusal | None = None

    @property
    def covered(self) -> bool:
        """Whether tonight's patterns of the symbol are served."""
        return self.refusal is None


def clean(
    raw: Bars,
    *,
    asset_type: AssetType,
    as_of: int,
    adjustment: Adjustment | None = None,
    splits: Sequence[Split] = (),
) -> Cleaned:
    """Clean the bars of one symbol up to the session with day number `as_of`.

    Splits are applied only to unadjusted bars (`adjustment` is `none`), and only splits up to the
    last bar, because a later split is not yet known in that session.
    """
    findings: dict[str, int] = {}
    bars = raw.until(as_of)
    given = len(bars)
    bars = _without_bad_bars(bars, findings)
    bars = _with_whole_ranges(bars, findings)
    if asset_type != "crypto":
        bars = _without_weekends(bars, findings)
    if adjustment == "none":
        bars = _with_splits(bars, splits, findings)
    bars = _without_misprints(bars, findings)
    bars, idle_share = _since_idle(bars, findings)
    bars = _without_halts(bars, findings)
    bars = _newest_series(bars, findings)
    _count("gap", int(np.count_nonzero(np.diff(bars.date) > GAP_DAYS[asset_type])), findings)
    refusal = doubt(bars, given, idle_share, asset_type, findings) or rest(bars, asset_type, as_of)
    if refusal is None:
        _count("behind", int(bars.date[-1] < as_of), findings)
    elif not refusal.analysed:
        bars = bars.take(slice(0, 0))
    return Cleaned(bars, findings, refusal)


def _count(rule: str, number: int, findings: dict[str, int]) -> None:
    if number:
        findings[rule] = findings.get(rule, 0) + number


def _dropped(bars: Bars, bad: Mask, rule: str, findings: dict[str, int]) -> Bars:
    number = int(np.count_nonzero(bad))
    _count(rule, number, findings)
    return bars.take(~bad) if number else bars


def _without_bad_bars(bars: Bars, findings: dict[str, int]) -> Bars:
    sound = bars.high >= bars.low
    for price in (bars.open, bars.high, bars.low, bars.close):
        sound &= np.isfinite(price) & (price > 0)
    return _dropped(bars, ~sound, "bad_bar", findings)


def _with_whole_ranges(bars: Bars, findings: dict[str, int]) -> Bars:
    """Widen ranges to contain open and close, and set unusable volumes to 0."""
    top, bottom = np.maximum(bars.open, bars.close), np.minimum(bars.open, bars.close)
    outside = (top > bars.high) | (bottom < bars.low)
    far = (top * (1 - OUTSIDE) > bars.high) | (bottom < bars.low * (1 - OUTSIDE))
    odd = ~(np.isfinite(bars.volume) & (bars.volume >= 0))
    _count("range_widened", int(np.count_nonzero(outside)), findings)
    _count("price_outside_range", int(np.count_nonzero(far)), findings)
    _count("bad_volume", int(np.count_nonzero(odd)), findings)
    return Bars(
        bars.date,
        bars.open,
        np.maximum(bars.high, top),
        np.minimum(bars.low, bottom),
        bars.close,
        np.where(odd, 0.0, bars.volume),
    )


def _without_halts(bars: Bars, findings: dict[str, int]) -> Bars:
    idle = bars.volume == 0
    halted = idle & (bars.high == bars.low)
    _count("no_volume", int(np.count_nonzero(idle & ~halted)), findings)
    return _dropped(bars, halted, "halted", findings)


def _without_misprints(bars: Bars, findings: dict[str, int]) -> Bars:
    """Drop bars whose open is far from both closes beside it, on days without unusual volume.

    The range contains the open, so the high or the low is wrong too and could resolve a trade.
    """
    opened = np.log(bars.open)
    before = np.log(np.concatenate([bars.close[:1], bars.close[:-1]]))
    beside = np.stack([opened - before, opened - np.log(bars.close)])
    far = (beside.min(axis=0) > np.log(MISPRINT)) | (beside.max(axis=0) < -np.log(MISPRINT))
    far[:1] = False
    for bar in np.flatnonzero(far):
        usual = float(np.median(bars.volume[max(0, bar - USUAL_BARS) : bar]))
        far[bar] = bars.volume[bar] <= MISPRINT_VOLUME * usual
    return _dropped(bars, far, "misprint", findings)


def _since_idle(bars: Bars, findings: dict[str, int]) -> tuple[Bars, float]:
    """The bars after the last mostly idle year, and the idle share of the most recent year.

    A bar is idle if it has no range or, in a series with volumes, no volume. Lines through such
    years would follow steps of the quote, not swings.
    """
    if not len(bars):
        return bars, 0.0
    idle = bars.high == bars.low
    if np.any(bars.volume > 0):
        idle |= bars.volume == 0
    width = min(FLAT_BARS, len(bars))
    sums = np.concatenate([[0], np.cumsum(idle)])
    share = (sums[width:] - sums[:-width]) / width
    mostly = np.flatnonzero(share > FLAT_SHARE)
    if not len(mostly) or mostly[-1] == len(share) - 1:
        return bars, float(share[-1])
    first = int(mostly[-1]) + width
    _count("idle_past", first, findings)
    return bars.take(slice(first, None)), float(share[-1])


def _without_weekends(bars: Bars, findings: dict[str, int]) -> Bars:
    """Drop weekend bars: no American exchange opens then, so they are misdated or made up."""
    return _dropped(bars, (bars.date + 3) % 7 >= 5, "weekend", findings)


def _with_splits(bars: Bars, splits: Sequence[Split], findings: dict[str, int]) -> Bars:
    """Prices and volumes converted to the shares of the last bar."""
    factor = np.ones(len(bars))
    last = int(bars.date[-1]) if len(bars) else 0
    for split in splits:
        day = to_day(split.date)
        if day <= last:
            factor[bars.date < day] *= split.ratio
            _count("split_applied", int(bool(bars.date[0] < day)), findings)
    return Bars(
        bars.date,
        bars.open / factor,
        bars.high / factor,
        bars.low / factor,
        bars.close / factor,
        bars.volume * factor,
    )


def _newest_series(bars: Bars, findings: dict[str, int]) -> Bars:
    breaks = np.flatnonzero(np.diff(bars.date) > REUSE_DAYS)
    _count("ticker_reuse", len(breaks), findings)
    return bars.take(slice(int(breaks[-1]) + 1, None)) if len(breaks) else bars
