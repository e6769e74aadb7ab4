"""The sieve: the rules that drop or mend single bars, applied to a symbol's raw bars in order.

Every rule counts the bars it affects under its name (`nightly.rules` explains each), and looks at a
bar and those before it alone, except that a bad print is known only by the bar after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from nightly.bars import Adjustment, Bars, Days, to_date, to_day
from nightly.doubt import SPIKE, USUAL_BARS, Idleness, spikes
from nightly.errors import Refusal
from nightly.reference import AssetType, Split
from nightly.series import Mask, Places, starts
from nightly.sessions import Window

REUSE_DAYS: Final = 90
"""A longer gap in calendar days separates two owners of one ticker."""

OUTSIDE: Final = 0.01
"""An open or close further beyond the range than this is a contradiction; less is rounding."""

MISPRINT: Final = 2.0
"""An open over this many times both closes beside it, or under this fraction, is a misprint ..."""
MISPRINT_VOLUME: Final = 5.0
"""... unless the day's volume is over this many times the median of the days before."""

CONTRADICTIONS: Final = (
    *("bad_bar", "price_outside_range", "weekend", "holiday", "misprint", "price_spike"),
)
"""The findings that speak against all bars of a symbol if there are many."""


class Sieve:
    """The bars that are left of a symbol's raw bars while rules are applied, and the findings."""

    def __init__(self, raw: Bars) -> None:
        self.bars = raw
        self.rows: Places = np.arange(len(raw))
        """The raw place of each bar that is left."""
        self.contradictions: Mask = np.zeros(len(raw), np.bool_)
        """The raw bars that contradict themselves."""
        self.sudden: Mask = np.zeros(len(raw), np.bool_)
        """The raw bars of which their own night could not know whether they are bad prints."""
        self.findings: dict[str, int] = {}
        self.pending: Refusal | None = None
        """Why the last bar was held back, if it was."""
        self.last_day: int | None = None
        """The day of the last bar that is left, or was held back."""
        self.idleness = Idleness.of(raw.take(slice(0, 0)), np.zeros(0, np.intp))

    def note(self, hits: Mask, rule: str) -> None:
        """Count the bars that a rule affects."""
        self.count(rule, int(np.count_nonzero(hits)))
        if rule in CONTRADICTIONS:
            self.contradictions[self.rows[hits]] = True

    def count(self, rule: str, number: int) -> None:
        """Count a number of bars."""
        if number:
            self.findings[rule] = self.findings.get(rule, 0) + number

    def drop(self, bad: Mask, rule: str) -> None:
        """Count the bars that a rule affects, and leave them out."""
        self.note(bad, rule)
        if bad.any():
            self.bars, self.rows = self.bars.take(~bad), self.rows[~bad]


def sift(
    raw: Bars,
    asset_type: AssetType,
    window: Window,
    adjustment: Adjustment | None,
    splits: Sequence[Split],
) -> Sieve:
    """Apply every rule to the raw bars of a symbol up to the last session of its window."""
    sieve = Sieve(raw.until(to_day(window.last)))
    sieve.count("future_date", int(len(raw) > 0 and raw.date[-1] > to_day(window.begun)))
    _drop_bad_bars(sieve)
    _widen_ranges(sieve)
    if asset_type != "crypto":
        # Day 0 was a Thursday.
        sieve.drop((sieve.bars.date + 3) % 7 >= 5, "weekend")
        sieve.drop(_among(sieve.bars.date, window.closed), "holiday")
    if adjustment == "none":
        _apply_splits(sieve, splits)
    _drop_misprints(sieve)
    _drop_spikes(sieve)
    _drop_halts(sieve)
    return sieve


def reused(bars: Bars) -> Mask:
    """The first bars of further owners of the ticker: each follows a long gap."""
    return np.concatenate([[False], np.diff(bars.date) > REUSE_DAYS])[: len(bars)]


def _among(days: Days, others: Days) -> Mask:
    """Which of some sorted days are among other, fewer days."""
    found = np.zeros(len(days), np.bool_)
    places = np.searchsorted(days, others)
    inside = places < len(days)
    same = places[inside][days[places[inside]] == others[inside]]
    found[same] = True
    return found


def _drop_bad_bars(sieve: Sieve) -> None:
    bars = sieve.bars
    sound = bars.high >= bars.low
    for price in (bars.open, bars.high, bars.low, bars.close):
        sound &= np.isfinite(price) & (price > 0)
    sieve.drop(~sound, "bad_bar")


def _widen_ranges(sieve: Sieve) -> None:
    """Widen ranges to contain open and close, and set unusable volumes to 0.

    Before the first volume the source does not know them: they stay NaN, which is no evidence.
    """
    bars = sieve.bars
    top, bottom = np.maximum(bars.open, bars.close), np.minimum(bars.open, bars.close)
    far = (top * (1 - OUTSIDE) > bars.high) | (bottom < bars.low * (1 - OUTSIDE))
    whole = np.isfinite(bars.volume) & (bars.volume >= 0)
    odd = ~whole & (np.logical_or.accumulate(whole) | ~np.isnan(bars.volume))
    sieve.note((top > bars.high) | (bottom < bars.low), "range_widened")
    sieve.note(far, "price_outside_range")
    sieve.note(odd, "bad_volume")
    high, low = np.maximum(bars.high, top), np.minimum(bars.low, bottom)
    volume = np.where(odd, 0.0, bars.volume)
    sieve.bars = Bars(bars.date, bars.open, high, low, bars.close, volume)


def _apply_splits(sieve: Sieve, splits: Sequence[Split]) -> None:
    """Convert prices and volumes to the shares of the last bar."""
    bars = sieve.bars
    if not len(bars):
        return
    factor = np.ones(len(bars))
    for split in splits:
        day = to_day(split.date)
        if day <= bars.date[-1]:
            factor[bars.date < day] *= split.ratio
            sieve.count("split_applied", int(bool(bars.date[0] < day)))
    opened, high, low, close = (
        price / factor for price in (bars.open, bars.high, bars.low, bars.close)
    )
    sieve.bars = Bars(bars.date, opened, high, low, close, bars.volume * factor)


def _drop_misprints(sieve: Sieve) -> None:
    """Drop bars whose open is far from both closes beside it, on days without unusual volume.

    The range contains the open, so the high or the low is wrong too and could resolve a trade.
    """
    bars = sieve.bars
    opened = np.log(bars.open)
    before = np.log(np.concatenate([bars.close[:1], bars.close[:-1]]))
    beside = np.stack([opened - before, opened - np.log(bars.close)])
    far = (beside.min(axis=0) > np.log(MISPRINT)) | (beside.max(axis=0) < -np.log(MISPRINT))
    far[:1] = False
    for bar in np.flatnonzero(far):
        usual = float(np.median(bars.volume[max(0, bar - USUAL_BARS) : bar]))
        far[bar] = not bars.volume[bar] > MISPRINT_VOLUME * usual
    sieve.drop(far, "misprint")


def _drop_spikes(sieve: Sieve) -> None:
    """Drop the closes that the next bar reverses, and hold back a last bar that may be one.

    Tonight nobody knows whether that bar is a bad print, so it must not resolve a trade.
    """
    found, sudden, undecided = spikes(sieve.bars.close)
    bad = np.zeros(len(sieve.bars), np.bool_)
    bad[found] = True
    sieve.sudden[sieve.rows[sudden]] = True
    if undecided:
        day = to_date(sieve.bars.date[-1])
        reason = (
            f"The close of {day} is over {SPIKE:.0f} times the one before, or under 1/{SPIKE:.0f}; "
            "the next bar will tell whether it is a bad print."
        )
        sieve.pending = Refusal("unconfirmed_close", reason)
        sieve.last_day = int(sieve.bars.date[-1])
    sieve.drop(bad, "price_spike")
    if undecided:
        sieve.bars, sieve.rows = sieve.bars.take(slice(-1)), sieve.rows[:-1]


def _drop_halts(sieve: Sieve) -> None:
    """Drop bars without volume and range, and note how idle the year before each other bar was."""
    bars = sieve.bars
    idleness = Idleness.of(bars, starts(reused(bars)))
    sieve.note(idleness.year, "idle")
    untraded, flat = bars.volume == 0, bars.high == bars.low
    sieve.note(untraded & ~flat, "no_volume")
    sieve.note(flat & ~untraded, "flat_bar")
    sieve.drop(untraded & flat, "halted")
    sieve.idleness = idleness.take(~(untraded & flat))
    if sieve.pending is None and len(sieve.bars):
        sieve.last_day = int(sieve.bars.date[-1])
