"""Cleaning: which of a symbol's raw bars are used, and into which series they are cut.

A price is never made up: `nightly.sieve` drops bars, widens a range to contain its own open and
close, and applies the reference's splits. What `nightly.doubt` says against a symbol acts from its
day on: bars before it stay, and so do the trades in them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from nightly.bars import Adjustment, Bars, to_day
from nightly.doubt import (
    GAP_DAYS,
    JUMP,
    Doubts,
    absurd_from,
    jumps,
    late,
    suspected_splits,
    untrusted,
)
from nightly.errors import Refusal
from nightly.reference import AssetType, Split
from nightly.series import Mask, Series
from nightly.sessions import Window
from nightly.sieve import CONTRADICTIONS, Sieve, reused, sift

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
    last_day: int | None = None
    """The day of the last usable bar, whether it can be trusted or not."""

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
    window: Window,
    adjustment: Adjustment | None = None,
    splits: Sequence[Split] = (),
) -> Cleaned:
    """Clean the bars of one symbol up to the last session of its window.

    Splits are applied only to unadjusted bars (`adjustment` is `none`), and only splits up to the
    last bar, because a later split is not yet known in that session.
    """
    sieve = sift(raw, asset_type, window, adjustment, splits)
    if not len(sieve.bars):
        ahead = len(raw) > 0 and raw.date[0] > to_day(window.begun)
        return Cleaned((), sieve.findings, sieve.pending or (ALL_AHEAD if ahead else NOTHING_LEFT))
    gaps = np.diff(sieve.bars.date) > GAP_DAYS[asset_type]
    sieve.count("gap", int(np.count_nonzero(gaps)))
    begins = _begins(sieve, asset_type)
    broken = _broken(sieve, begins)
    following = _follows(sieve.bars, asset_type, window)
    series, doubts = _cut(sieve, broken, begins, following)
    refusal = _distrust(sieve, broken) or sieve.pending or doubts or late(sieve.last_day, window)
    return Cleaned(series, sieve.findings, refusal, sieve.last_day)


def _begins(sieve: Sieve, asset_type: AssetType) -> Mask:
    """The bars that cannot be compared with the bar before: another owner's, or in other shares."""
    begins = reused(sieve.bars)
    sieve.count("ticker_reuse", int(np.count_nonzero(begins)))
    if asset_type != "crypto":
        split = [bar for bar in suspected_splits(sieve.bars) if not begins[bar]]
        sieve.count("unadjusted_split", len(split))
        begins[split] = True
    return begins


def _broken(sieve: Sieve, begins: Mask) -> Mask:
    """The bars from which on nothing can be trusted: contradictions, or absurd jumps."""
    broken = untrusted(sieve.contradictions, sieve.rows)
    for part in _parts(reused(sieve.bars)):
        close = sieve.bars.close[part]
        sieve.count("price_jump", len(jumps(close)))
        absurd = absurd_from(close, begins[part])
        if absurd is not None:
            broken[part.start + absurd : part.stop] = True
    return broken


def _parts(begins: Mask) -> Iterator[slice]:
    """The bars from each beginning to the next."""
    places = [0, *np.flatnonzero(begins[1:]) + 1, len(begins)]
    return (slice(int(start), int(end)) for start, end in pairwise(places))


def _follows(bars: Bars, asset_type: AssetType, window: Window) -> Mask:
    """Whether each bar is of the session after that of the bar before."""
    day = bars.date.astype(np.int64)
    if asset_type != "crypto":
        # Sessions are numbered from day -3, a Monday.
        weeks, weekday = np.divmod(day + 3, 7)
        day = 5 * weeks + np.minimum(weekday, 4) - np.searchsorted(window.closed, day, "right")
    return np.concatenate([[False], np.diff(day) == 1])[: len(bars)]


def _cut(
    sieve: Sieve, broken: Mask, begins: Mask, following: Mask
) -> tuple[list[Series], Refusal | None]:
    """The series of the bars that are not broken, and the doubt about the last bar."""
    changes = np.concatenate([[False], broken[1:] != broken[:-1]])
    found: list[Series] = []
    doubts: Doubts | None = None
    for part in _parts(begins | changes):
        doubts = None
        if not broken[part.start]:
            mine, idle = sieve.bars.take(part), sieve.idleness.take(part)
            doubts = Doubts.of(mine, idle)
            served = doubts.served & ~sieve.sudden[sieve.rows[part]]
            found.append(Series(mine, idle.year, served, following[part]))
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
        if 2 * sieve.findings.get("holiday", 0) > bad:
            reason += " Stocks must have New York's trading days; those of other exchanges cannot "
            reason += "be used."
        return Refusal("bad_bars", reason)
    if not broken[-1]:
        return None
    number = sieve.findings.get("price_jump", 0)
    reason = f"{number} closes differ from the one before by a factor over {JUMP:.0f}"
    return Refusal("price_jumps", f"{reason}; real companies have had one at most, under 20.")
