"""Cleaning: which of a symbol's raw bars are used, and into which series they are cut.

A price is never made up: the rules drop bars, widen a range to contain its own open and close, and
apply the reference's splits. Every rule counts the bars it affects under its name
(`screener.nightly.cleaning.rules` explains each), and looks at a bar and those before it alone,
except that a bad print is known only by the bar after it.

What the gates say against a symbol acts from its day on, until what they judge is long past: bars
before it stay, and so do the trades in them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from screener.nightly.bars import Adjustment, Bars, Days, to_date, to_day
from screener.nightly.cleaning.gates import (
    JUMP,
    SPIKE,
    USUAL_BARS,
    Gate,
    Idleness,
    absurd,
    far_apart,
    gap_days,
    gates,
    jumps,
    late,
    spikes,
    suspected_splits,
    untrusted,
)
from screener.nightly.cleaning.sessions import SessionWindow
from screener.nightly.errors import RefusedInput
from screener.nightly.reference.reference import AssetType, Split
from screener.nightly.series import Mask, Places, Series, parts
from store.wire.exchanges import NEW_YORK, customary_currency

REUSE_DAYS: Final = 90
"""A longer gap in calendar days separates two owners of one ticker."""

OUTSIDE: Final = 0.01
"""An open or close further beyond the range than this is a contradiction; less is rounding."""

MISPRINT: Final = 2.0
"""An open over this many times both closes beside it, or under this fraction, is a misprint ..."""
MISPRINT_VOLUME: Final = 5.0
"""... unless the day's volume is over this many times the median of the days before."""

UNIT: Final = 100.0
"""A close over about this many times the one before, or under a fraction as small, is in another
unit ..."""
UNIT_TOLERANCE: Final = 0.2
"""... give or take the move of a day."""
HUNDREDTHS: Final = ("GBX", "ZAC")
"""Where exchanges quote in pence or cents, sources mix them with pounds and rands."""
STOPPED: Final = 2
"""So many repeats of one bar at the end show that its source has stopped."""
EXTRA_SHARE: Final = 0.025
"""No exchange has a larger share of sessions that its calendar does not know."""

CONTRADICTIONS: Final = (
    *("bad_bar", "price_outside_range", "weekend", "holiday", "misprint", "price_spike"),
)
"""The findings that speak against all bars of a symbol if there are many."""


NOTHING_LEFT: Final = RefusedInput("too_few_bars", "No usable bar is left.")
ALL_AHEAD: Final = RefusedInput(
    "too_few_bars", "Every bar is dated in the future; correct the dates."
)


@dataclass(frozen=True, slots=True, eq=False)
class Cleaned:
    """The series of a symbol's bars, oldest first, and the findings.

    With a refusal nothing current is served, but the trades in the series stay. Without any series
    there is a refusal.
    """

    series: Sequence[Series]
    findings: Mapping[str, int]
    refusal: RefusedInput | None = None
    last_day: int | None = None
    """The day of the last usable bar, whether it can be trusted or not."""
    withheld: Mapping[str, int] = field(default_factory=dict)
    """By rule: the bars that no rule drops, and that are in no series all the same."""

    @property
    def covered(self) -> bool:
        """Whether tonight's patterns of the symbol are served."""
        return self.refusal is None

    @property
    def bars(self) -> Bars:
        """The bars of all series."""
        return Bars.joined([series.bars for series in self.series])


def clean(
    raw: Bars,
    *,
    asset_type: AssetType,
    window: SessionWindow,
    adjustment: Adjustment | None = None,
    splits: Sequence[Split] = (),
) -> Cleaned:
    """Clean the bars of one symbol up to the last session of its window.

    Splits are applied only to unadjusted bars (`adjustment` is `none`), and only splits up to the
    last bar, because a later split is not yet known in that session.
    """
    left = Remaining(raw.until(to_day(window.last)))
    left.count("future_date", int(len(raw) > 0 and raw.date[-1] > to_day(window.begun)))
    left.apply_rules(asset_type, window, splits if adjustment == "none" else ())
    if not len(left.bars):
        ahead = len(raw) > 0 and raw.date[0] > to_day(window.begun)
        nothing = left.pending or (ALL_AHEAD if ahead else NOTHING_LEFT)
        return Cleaned((), left.findings, nothing, withheld=left.withheld)
    left.count("gap", int(np.count_nonzero(np.diff(left.bars.date) > gap_days(window.calendar))))
    owners = reused(left.bars)
    left.note(owners, "ticker_reuse")
    begins = owners | _splits(left, owners, asset_type)
    broken = _broken(left, owners, begins)
    following = _follows(left.bars, asset_type, window)
    series, gated = _cut(left, broken, begins, following)
    refusal = (
        _distrust(left, broken, window) or left.pending or gated or late(left.last_day, window)
    )
    return Cleaned(series, left.findings, refusal, left.last_day, left.withheld)


class Remaining:
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
        self.withheld: dict[str, int] = {}
        """By rule: bars that no rule drops, and that are not used all the same."""
        self.pending: RefusedInput | None = None
        """Why the last bar was held back, if it was."""
        self.last_day: int | None = None
        """The day of the last bar that is left, or was held back."""
        self.idleness: Idleness
        """Idleness of the bars that are left, once all rules were applied."""

    def apply_rules(
        self, asset_type: AssetType, window: SessionWindow, splits: Sequence[Split]
    ) -> None:
        """Drop and mend bars by every rule, in order."""
        _drop_bad_bars(self)
        _widen_ranges(self)
        if customary_currency(window.calendar) in HUNDREDTHS and asset_type != "crypto":
            _convert_units(self)
        self.drop(_at_end(_repeats(self.bars)), "repeated_bar")
        if asset_type != "crypto":
            self._drop_closed(window)
        if splits:
            _apply_splits(self, splits)
        _drop_misprints(self)
        _drop_spikes(self)
        _drop_halts(self)

    def _drop_closed(self, window: SessionWindow) -> None:
        """Drop the bars of days on which the exchange did not open.

        Days that somebody filled in repeat the close before, and speak against nothing. Exchanges
        abroad open on a few days that their calendars do not have: those of India for an hour at
        Diwali.
        """
        abroad = window.calendar != NEW_YORK
        untraded = self.bars.volume == 0
        filled = _repeats(self.bars) | (untraded & (self.bars.high == self.bars.low))
        # Day 0 was a Thursday.
        weekend = (self.bars.date + 3) % 7 >= 5
        holiday = _among(self.bars.date, window.closed)
        extra = (weekend | holiday) & ~filled & (self.bars.volume > 0)
        if abroad and np.count_nonzero(extra) <= EXTRA_SHARE * len(extra):
            self.count("extra_session", int(np.count_nonzero(extra)))
            weekend, holiday = weekend & ~extra, holiday & ~extra
        self.note(filled & (weekend | holiday), "filled_day")
        if not abroad:
            self.note(weekend & ~filled, "weekend", counted=False)
        self.note(holiday & ~filled, "holiday", counted=False)
        kept = ~weekend
        self.drop(weekend, "weekend", blamed=False)
        self.drop(holiday[kept], "holiday", blamed=False)

    def count(self, rule: str, number: int) -> None:
        """Count a number of bars."""
        if number:
            self.findings[rule] = self.findings.get(rule, 0) + number

    def note(self, hits: Mask, rule: str, *, blamed: bool = True, counted: bool = True) -> bool:
        """Count the bars that a rule affects, and say whether there are any."""
        number = int(np.count_nonzero(hits))
        self.count(rule, number if counted else 0)
        if number and blamed and rule in CONTRADICTIONS:
            self.contradictions[self.rows[hits]] = True
        return number > 0

    def drop(self, bad: Mask, rule: str, *, blamed: bool = True) -> None:
        """Count the bars that a rule affects, and leave them out."""
        if self.note(bad, rule, blamed=blamed):
            self.bars, self.rows = self.bars.take(~bad), self.rows[~bad]


def _drop_bad_bars(left: Remaining) -> None:
    bars = left.bars
    # Comparisons with NaN are false; the low is finite and the high positive by the others.
    sound = (bars.low > 0) & (bars.high >= bars.low) & (bars.high < np.inf)
    for price in (bars.open, bars.close):
        sound &= (price > 0) & (price < np.inf)
    left.drop(~sound, "bad_bar")


def _widen_ranges(left: Remaining) -> None:
    """Widen ranges to contain open and close, and set unusable volumes to 0.

    Before the first volume the source does not know them: they stay NaN, which is no evidence.
    """
    bars = left.bars
    high, low, volume = bars.high, bars.low, bars.volume
    top, bottom = np.maximum(bars.open, bars.close), np.minimum(bars.open, bars.close)
    if left.note((top > high) | (bottom < low), "range_widened"):
        far = (top * (1 - OUTSIDE) > high) | (bottom < low * (1 - OUTSIDE))
        left.note(far, "price_outside_range")
        high, low = np.maximum(high, top), np.minimum(low, bottom)
    whole = (volume >= 0) & (volume < np.inf)
    odd = ~whole & (np.logical_or.accumulate(whole) | ~np.isnan(volume))
    if left.note(odd, "bad_volume"):
        volume = np.where(odd, 0.0, volume)
    left.bars = Bars(bars.date, bars.open, high, low, bars.close, volume)


def _repeats(bars: Bars) -> Mask:
    """Bars with a range that repeat the one before in every price and the volume: they are filled
    in, or the source has stopped.
    """
    same = np.ones(max(len(bars) - 1, 0), np.bool_)
    for values in (bars.close, bars.open, bars.high, bars.low, bars.volume):
        same &= (values[1:] == values[:-1]) | (np.isnan(values[1:]) & np.isnan(values[:-1]))
    same &= bars.high[1:] > bars.low[1:]
    return np.concatenate([[False], same])[: len(bars)]


def _at_end(repeats: Mask) -> Mask:
    """The repeats in a row at the end, if they are more than a coincidence."""
    last = np.flatnonzero(~repeats)[-1] + 1 if len(repeats) else 0
    found = np.zeros(len(repeats), np.bool_)
    found[last:] = len(repeats) - last >= STOPPED
    return found


def _convert_units(left: Remaining) -> None:
    """Convert stretches in pounds to pence, where a source changes from one to the other.

    The highest level of a series is in hundredths, since that is how its exchange quotes.
    """
    bars = left.bars
    if len(bars) < 2:
        return
    step = np.log(bars.close[1:] / bars.close[:-1])
    near = np.abs(np.abs(step) - math.log(UNIT)) < math.log1p(UNIT_TOLERANCE)
    level = np.cumsum(np.where(near, np.sign(step), 0.0))
    level = np.concatenate([[0.0], level])
    level -= level.max()
    if not near.any() or level.min() < -1:
        return
    factor = np.where(level < 0, UNIT, 1.0)
    left.count("unit_changed", int(np.count_nonzero(level < 0)))
    opened, high, low, close = (price * factor for price in bars.prices)
    left.bars = Bars(bars.date, opened, high, low, close, bars.volume)


def _among(days: Days, others: Days) -> Mask:
    """Which of some sorted days are among other, fewer days."""
    found = np.zeros(len(days), np.bool_)
    places = np.searchsorted(days, others)
    inside = places < len(days)
    same = places[inside][days[places[inside]] == others[inside]]
    found[same] = True
    return found


def _apply_splits(left: Remaining, splits: Sequence[Split]) -> None:
    """Convert prices and volumes to the shares of the last bar."""
    bars = left.bars
    if not len(bars):
        return
    factor = np.ones(len(bars))
    for split in splits:
        day = to_day(split.date)
        if day <= bars.date[-1]:
            factor[bars.date < day] *= split.ratio
            left.count("split_applied", int(bool(bars.date[0] < day)))
    opened, high, low, close = (price / factor for price in bars.prices)
    left.bars = Bars(bars.date, opened, high, low, close, bars.volume * factor)


def _drop_misprints(left: Remaining) -> None:
    """Drop bars whose open is far from both closes beside it, on days without unusual volume.

    The range contains the open, so the high or the low is wrong too and could resolve a trade.
    """
    bars, limit = left.bars, math.log(MISPRINT)
    bad = np.zeros(len(bars), np.bool_)
    for bar in (far_apart(bars.open[1:], bars.close[1:], limit) + 1).tolist():
        beside = np.log(bars.open[bar]) - np.log(bars.close[bar - 1 : bar + 1])
        usual = float(np.median(bars.volume[max(0, bar - USUAL_BARS) : bar]))
        far = beside.min() > limit or beside.max() < -limit
        bad[bar] = far and not bars.volume[bar] > MISPRINT_VOLUME * usual
    left.drop(bad, "misprint")


def _drop_spikes(left: Remaining) -> None:
    """Drop the closes that the next bar reverses, and hold back a last bar that may be one.

    Tonight nobody knows whether that bar is a bad print, so it must not resolve a trade.
    """
    found, sudden, undecided = spikes(left.bars.close)
    bad = np.zeros(len(left.bars), np.bool_)
    bad[found] = True
    left.sudden[left.rows[sudden]] = True
    if undecided:
        day = to_date(left.bars.date[-1])
        reason = (
            f"The close of {day} is over {SPIKE:.0f} times the one before, or under 1/{SPIKE:.0f}; "
            "the next bar will tell whether it is a bad print."
        )
        left.pending = RefusedInput("unconfirmed_close", reason)
        left.withheld["unconfirmed_close"] = 1
        left.last_day = int(left.bars.date[-1])
    left.drop(bad, "price_spike")
    if undecided:
        left.bars, left.rows = left.bars.take(slice(-1)), left.rows[:-1]


def _drop_halts(left: Remaining) -> None:
    """Drop bars without volume and range, and note how idle the year before each other bar was."""
    bars = left.bars
    idleness = Idleness.of(bars, reused(bars))
    left.note(idleness.year, "idle")
    untraded, flat = bars.volume == 0, bars.high == bars.low
    left.note(untraded & ~flat, "no_volume")
    left.note(flat & ~untraded, "flat_bar")
    left.drop(untraded & flat, "halted")
    left.idleness = idleness.take(~(untraded & flat))
    if left.pending is None and len(left.bars):
        left.last_day = int(left.bars.date[-1])


def reused(bars: Bars) -> Mask:
    """The first bars of further owners of the ticker: each follows a long gap."""
    return np.concatenate([[False], np.diff(bars.date) > REUSE_DAYS])[: len(bars)]


def _splits(left: Remaining, owners: Mask, asset_type: AssetType) -> Mask:
    """The bars that are in other shares than the bar before, which is of the same owner."""
    found = np.zeros(len(left.bars), np.bool_)
    if asset_type != "crypto":
        found[suspected_splits(left.bars)] = True
        found &= ~owners
        left.note(found, "unadjusted_split")
    return found


def _broken(left: Remaining, owners: Mask, begins: Mask) -> Mask:
    """The bars at which nothing can be trusted: too many contradictions, or absurd jumps."""
    broken = untrusted(left.contradictions, left.rows)
    contradicted = int(np.count_nonzero(broken))
    for part in parts(owners):
        close = left.bars.close[part]
        jumped = jumps(close)
        left.count("price_jump", len(jumped))
        broken[part] |= absurd(close, jumped, begins[part])
    left.withheld["bad_bars"] = contradicted
    left.withheld["price_jumps"] = int(np.count_nonzero(broken)) - contradicted
    return broken


def _follows(bars: Bars, asset_type: AssetType, window: SessionWindow) -> Mask:
    """Whether each bar is of the session after that of the bar before."""
    number = bars.date
    if asset_type != "crypto":
        # Weekdays are numbered from day -3, a Monday; less the closed ones, they are sessions.
        closed = np.searchsorted(bars.date, window.closed)
        passed = np.arange(len(closed) + 1)
        lengths = np.diff(closed, prepend=0, append=len(bars))
        number = number + 3 - (number + 3) // 7 * 2 - np.repeat(passed, lengths)
    return np.concatenate([[False], np.diff(number) == 1])[: len(bars)]


def _cut(
    left: Remaining, broken: Mask, begins: Mask, following: Mask
) -> tuple[list[Series], RefusedInput | None]:
    """The series of the bars that are not broken, and why the last bar is not served."""
    changes = np.concatenate([[False], broken[1:] != broken[:-1]])
    found: list[Series] = []
    last: list[Gate] = []  # those of the last part
    for part in parts(begins | changes):
        last = []
        if not broken[part.start]:
            mine, idle = left.bars.take(part), left.idleness.take(part)
            last = gates(mine, idle)
            served = ~left.sudden[left.rows[part]]
            for gate in last:
                served &= ~gate.refused
            found.append(Series(mine, idle.year, served, following[part]))
    return found, next((gate.refusal for gate in last if gate.refused[-1]), None)


def _distrust(left: Remaining, broken: Mask, window: SessionWindow) -> RefusedInput | None:
    """Why the bars cannot be trusted from some day on until now."""
    # The last raw bars may all have been dropped.
    ends = np.array([left.rows[-1], len(left.contradictions) - 1])
    if untrusted(left.contradictions, ends).any():
        bad, given = int(left.contradictions.sum()), len(left.contradictions)
        kinds = (
            f"{rule} {left.findings[rule]}" for rule in CONTRADICTIONS if rule in left.findings
        )
        reason = f"{bad} of {given} bars contradict themselves ({', '.join(kinds)})."
        if 2 * left.findings.get("holiday", 0) > bad:
            york = window.calendar == NEW_YORK
            where = "New York" if york else f"The exchange with the calendar {window.calendar}"
            reason += f" {where} did not trade on these holidays; say with --exchange, or in the "
            reason += "column exchange of --reference, where it is listed."
        return RefusedInput("bad_bars", reason)
    if not broken[-1]:
        return None
    number = left.findings.get("price_jump", 0)
    reason = f"{number} closes differ from the one before by a factor over {JUMP:.0f}, some lately"
    return RefusedInput("price_jumps", f"{reason}; real companies have had one at most, under 20.")
