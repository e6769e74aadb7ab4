"""Cleaning: which of a symbol's raw bars are used, and into which series they are cut.

Every rule counts the bars it affects under its name (`nightly.rules` explains each). A price is
never made up: bars are dropped, a range is widened to contain its own open and close, and the
reference's splits are applied. What `nightly.doubt` says against a symbol acts from its day on:
bars before it stay, and so do the trades in them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from nightly.bars import Adjustment, Bars, Days, to_date, to_day
from nightly.doubt import (
    GAP_DAYS,
    JUMP,
    SPIKE,
    USUAL_BARS,
    Doubts,
    Idleness,
    absurd_from,
    jumps,
    late,
    spikes,
    suspected_splits,
    untrusted,
)
from nightly.errors import Refusal
from nightly.reference import AssetType, Split
from nightly.series import Mask, Places, Series, starts
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


NOTHING_LEFT: Final = Refusal("too_few_bars", "No usable bar is left.")
ALL_AHEAD: Final = Refusal("too_few_bars", "Every bar is dated in the future; correct the dates.")


@dataclass(frozen=True, slots=True, eq=False)
class Cleaned:
    """The series of a symbol's bars, oldest first, and the findings.

    With a refusal nothing current is served, but the trades in the series stay.
    """

    series: Sequence[Series]
    findings: Mapping[str, int]
    refusal: Refusal | None = None

    @property
    def covered(self) -> bool:
        """Whether tonight's patterns of the symbol are served."""
        return self.refusal is None

    @property
    def bars(self) -> Bars:
        """The bars of all series."""
        return Bars.joined([series.bars for series in self.series])


class Sieve:
    """The bars that are left of a symbol's raw bars while rules are applied, and the findings."""

    def __init__(self, raw: Bars) -> None:
        self.bars = raw
        self.rows: Places = np.arange(len(raw))
        """The raw place of each bar that is left."""
        self.contradictions: Mask = np.zeros(len(raw), np.bool_)
        """The raw bars that contradict themselves."""
        self.findings: dict[str, int] = {}

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


def clean(
    raw: Bars,
    *,
    asset_type: AssetType,
    window: Window,
    adjustment: Adjustment | None = None,
    splits: Sequence[Split] = (),
) -> Cleaned:
    """Clean the bars of one symbol up to the last session of its window.

    Splits are applied only to unadjusted bars (`adjustment` is `none`), and only splits up to the
    last bar, because a later split is not yet known in that session.
    """
    sieve = Sieve(raw.until(to_day(window.last)))
    sieve.count("future_date", int(np.count_nonzero(raw.date > to_day(window.begun))))
    _drop_bad_bars(sieve)
    _widen_ranges(sieve)
    if asset_type != "crypto":
        # Day 0 was a Thursday.
        sieve.drop((sieve.bars.date + 3) % 7 >= 5, "weekend")
        sieve.drop(_among(sieve.bars.date, window.closed), "holiday")
    if adjustment == "none":
        _apply_splits(sieve, splits)
    _drop_misprints(sieve)
    pending = _drop_spikes(sieve)
    if not len(sieve.bars):
        ahead = len(raw) > 0 and sieve.findings.get("future_date") == len(raw)
        return Cleaned((), sieve.findings, ALL_AHEAD if ahead else NOTHING_LEFT)
    last = int(sieve.bars.date[-1])
    if pending is not None:
        sieve.bars, sieve.rows = sieve.bars.take(slice(-1)), sieve.rows[:-1]
    idleness = _drop_halts(sieve)
    if not len(sieve.bars):
        return Cleaned((), sieve.findings, pending or NOTHING_LEFT)
    gaps = np.diff(sieve.bars.date) > GAP_DAYS[asset_type]
    sieve.count("gap", int(np.count_nonzero(gaps)))
    begins = _begins(sieve, asset_type)
    broken = _broken(sieve, begins)
    series, doubts = _cut(sieve.bars, idleness, broken, begins)
    refusal = _distrust(sieve, broken) or pending or doubts or late(last, window)
    return Cleaned(series, sieve.findings, refusal)


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

    If no bar has a volume, the source does not know them: they stay NaN, which is no evidence.
    """
    bars = sieve.bars
    top, bottom = np.maximum(bars.open, bars.close), np.minimum(bars.open, bars.close)
    far = (top * (1 - OUTSIDE) > bars.high) | (bottom < bars.low * (1 - OUTSIDE))
    odd = ~(np.isfinite(bars.volume) & (bars.volume >= 0))
    if np.isnan(bars.volume).all():
        odd[:] = False
    sieve.note((top > bars.high) | (bottom < bars.low), "range_widened")
    sieve.note(far, "price_outside_range")
    sieve.note(odd, "bad_volume")
    high, low = np.maximum(bars.high, top), np.minimum(bars.low, bottom)
    volume = np.where(odd, 0.0, bars.volume)
    sieve.bars = Bars(bars.date, bars.open, high, low, bars.close, volume)


def _apply_splits(sieve: Sieve, splits: Sequence[Split]) -> None:
    """Convert prices and volumes to the shares of the last bar."""
    bars = sieve.bars
    factor = np.ones(len(bars))
    last = int(bars.date[-1]) if len(bars) else 0
    for split in splits:
        day = to_day(split.date)
        if day <= last:
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


def _drop_spikes(sieve: Sieve) -> Refusal | None:
    """Drop the closes that the next bar reverses; a refusal if the last bar may be one.

    Tonight nobody knows whether that bar is a bad print, so it resolves no trade yet.
    """
    found, open_question = spikes(sieve.bars.close)
    bad = np.zeros(len(sieve.bars), np.bool_)
    bad[found] = True
    sieve.drop(bad, "price_spike")
    if not open_question:
        return None
    day = to_date(sieve.bars.date[-1])
    reason = f"The close of {day} is over {SPIKE:.0f} times the one before, or under 1/{SPIKE:.0f}"
    return Refusal(
        "unconfirmed_close", f"{reason}; the next bar will tell whether it is a bad print."
    )


def _drop_halts(sieve: Sieve) -> Idleness:
    """Drop bars without volume and range; the idleness of the bars that are left."""
    bars = sieve.bars
    idleness = Idleness.of(bars, starts(_reused(bars)))
    sieve.note(idleness.year, "idle")
    untraded, flat = bars.volume == 0, bars.high == bars.low
    sieve.note(untraded & ~flat, "no_volume")
    sieve.note(flat & ~untraded, "flat_bar")
    sieve.drop(untraded & flat, "halted")
    return idleness.take(~(untraded & flat))


def _reused(bars: Bars) -> Mask:
    """The first bars of further owners of the ticker: each follows a long gap."""
    return np.concatenate([[False], np.diff(bars.date) > REUSE_DAYS])[: len(bars)]


def _begins(sieve: Sieve, asset_type: AssetType) -> Mask:
    """The bars that cannot be compared with the bar before: another owner's, or in other shares."""
    begins = _reused(sieve.bars)
    sieve.count("ticker_reuse", int(np.count_nonzero(begins)))
    if asset_type != "crypto":
        split = [bar for bar in suspected_splits(sieve.bars) if not begins[bar]]
        sieve.count("unadjusted_split", len(split))
        begins[split] = True
    return begins


def _broken(sieve: Sieve, begins: Mask) -> Mask:
    """The bars from which on nothing can be trusted: contradictions, or absurd jumps."""
    broken = untrusted(sieve.contradictions, sieve.rows)
    for part in _parts(begins):
        close = sieve.bars.close[part]
        sieve.count("price_jump", len(jumps(close)))
        absurd = absurd_from(close)
        if absurd is not None:
            broken[part.start + absurd : part.stop] = True
    return broken


def _parts(begins: Mask) -> Iterator[slice]:
    """The bars from each beginning to the next."""
    places = [0, *np.flatnonzero(begins[1:]) + 1, len(begins)]
    return (slice(int(start), int(end)) for start, end in pairwise(places))


def _cut(
    bars: Bars, idleness: Idleness, broken: Mask, begins: Mask
) -> tuple[list[Series], Refusal | None]:
    """The series of the bars that are not broken, and the doubt about the last bar."""
    changes = np.concatenate([[False], broken[1:] != broken[:-1]])
    found: list[Series] = []
    doubts: Doubts | None = None
    for part in _parts(begins | changes):
        doubts = None
        if not broken[part.start]:
            mine, idle = bars.take(part), idleness.take(part)
            doubts = Doubts.of(mine, idle)
            found.append(Series(mine, idle.year, doubts.served))
    return found, doubts.tonight() if doubts else None


def _distrust(sieve: Sieve, broken: Mask) -> Refusal | None:
    """Why the bars cannot be trusted from some day on until now."""
    # The last raw bars may all have been dropped.
    ends = np.array([sieve.rows[-1], len(sieve.contradictions) - 1])
    if untrusted(sieve.contradictions, ends).any():
        bad, given = int(sieve.contradictions.sum()), len(sieve.contradictions)
        kinds = (
            f"{rule} {sieve.findings[rule]}" for rule in CONTRADICTIONS if rule in sieve.findings
        )
        reason = f"{bad} of {given} bars contradict themselves ({', '.join(kinds)})."
        return Refusal("bad_bars", reason)
    if not broken[-1]:
        return None
    number = sieve.findings.get("price_jump", 0)
    reason = f"{number} closes differ from the one before by a factor over {JUMP:.0f}"
    return Refusal("price_jumps", f"{reason}; real companies have had one at most, under 20.")
