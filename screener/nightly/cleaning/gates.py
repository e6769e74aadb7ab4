"""Gates: what speaks against serving a symbol on a night, decided for every past night alike.

Each function looks at a bar and those before it, so a night of any day decides as it did then. What
makes earlier and later prices incomparable cuts the bars into series; what only makes lines
meaningless keeps a symbol out for as long as it lasts. Nothing here changes a bar.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from screener.nightly.bars import Bars, Floats, to_date, to_day
from screener.nightly.cleaning.sessions import SessionWindow
from screener.nightly.detector.detector import log_atrs
from screener.nightly.detector.parameters import DEFAULTS
from screener.nightly.errors import RefusedInput
from screener.nightly.series import Mask, Places, bars_since, parts, trailing_share
from store.wire.exchanges import NEW_YORK, UTC_DAYS

MIN_BARS: Final = 60
GAP_DAYS: Final = 10
"""A longer gap in calendar days ends all forming setups."""
GAP_CRYPTO: Final = 3
GAP_ABROAD: Final = 14
"""Holidays of Tokyo, Shanghai and Taipei close the exchange for up to 12 days."""

BAD_SHARE: Final = 0.01
"""Bars are refused while a larger share of the raw bars before contradict themselves."""
BAD_WINDOW: Final = 1250
"""The bars that are looked at: about five years."""
BAD_STRETCH: Final = 20
"""So many bad bars in a row are a stretch without data, after which the bars are judged anew."""
BAD_BARS: Final = 3
"""This many contradictions are accepted, however few bars there are."""

FLAT_SHARE: Final = 0.4
"""A symbol counts as not traded if a larger share of a year's bars has no range or no volume."""
FLAT_BARS: Final = 250
STEPPED_SHARE: Final = 1 / 3
"""The tick is too coarse if a larger share of the last year's closes repeats the one before."""

SPIKE: Final = 3.0
"""A close over this many times the one before, and back on the next bar, is a bad print."""
JUMP: Final = 5.0
MAX_JUMPS: Final = 1
"""Real companies have had one jump by the factor `JUMP`; sound data never showed a second."""
JUMP_LIMIT: Final = 20.0
"""No close of a sound series was ever this many times the one before; the largest was 9.6."""

SPLIT_LOG: Final = 0.5
SPLIT_TOLERANCE: Final = 0.02
SPLIT_RATIOS: Final = (2, 3, 4, 5, 6, 7, 8, 10, 15, 20, 25, 30, 50, 100)
FRACTIONS: Final = {"5:4": 5 / 4, "4:3": 4 / 3, "3:2": 3 / 2, "5:3": 5 / 3, "5:2": 5 / 2}
"""Ratios that news reaches too; of these nothing but the gap may be unusual."""
FRACTION_LEVEL: Final = 0.1
FRACTION_RANGE: Final = 2.0
FRACTION_VOLUME: Final = 3.0
"""The day has at most this many times the median volume of the 20 bars before."""
OUTSTANDING_RANGES: Final = 6.0
OUTSTANDING_GAPS: Final = 2.0
"""The gap is over so many times the median range, and the largest of the 60 gaps, before it."""
GAPS: Final = 60
LEVEL_BARS: Final = 5
"""Closes before a split; the close of its day must have its ratio to their median ..."""
LEVEL_TOLERANCE: Final = 0.25
"""... within this tolerance: an open that is gone by the close is no split."""
ORDINARY_RANGE: Final = 3.0
"""The day of a split has at most this many times the median range of the 20 bars before."""
USUAL_BARS: Final = 20


def gap_days(calendar: str) -> int:
    """The gap in calendar days that a symbol may have without losing its forming setups."""
    return {NEW_YORK: GAP_DAYS, UTC_DAYS: GAP_CRYPTO}.get(calendar, GAP_ABROAD)


def untrusted(contradictions: Mask, rows: Places) -> Mask:
    """Kept bars at which too many of the raw bars so far contradict themselves, and too many of the
    last `BAD_WINDOW`, or of those since the last stretch of nothing but such bars.

    `contradictions` has one value for each raw bar, `rows` the raw place of each kept bar.
    """
    if not contradictions.any():
        return np.zeros(len(rows), np.bool_)
    since = np.maximum(_after_stretches(contradictions)[rows], rows + 1 - BAD_WINDOW)
    sums = np.concatenate([[0], np.cumsum(contradictions)])
    ever = sums[rows + 1] > np.maximum(BAD_BARS, BAD_SHARE * (rows + 1))
    bad = sums[rows + 1] - sums[since]
    return np.asarray(ever & (bad > np.maximum(BAD_BARS, BAD_SHARE * (rows + 1 - since))))


def _after_stretches(contradictions: Mask) -> Places:
    """For each raw bar, where the bars after the last bad stretch begin; 0 if there was none."""
    run = bars_since(~contradictions)
    ends = np.flatnonzero((run[:-1] >= BAD_STRETCH) & (run[1:] == 0)) + 1
    begin = np.zeros(len(run), np.intp)
    begin[ends] = ends
    return np.maximum.accumulate(begin)


def far_apart(prices: Floats, others: Floats, limit: float) -> Places:
    """Where the log of a price is further than a limit from that of the other price.

    Logs are slow, and few prices are near the limit: only these are compared by their logs.
    """
    near = 1.001 * math.exp(-limit)
    places = np.flatnonzero((prices * near >= others) | (others * near >= prices))
    apart: Places = places[np.abs(np.log(prices[places]) - np.log(others[places])) > limit]
    return apart


class Spikes(NamedTuple):
    """Closes far from the one before."""

    bad: list[int]
    """The bars that the next bar reverses."""
    sudden: list[int]
    """The others; their own night did not know that."""
    undecided: bool
    """Whether the last bar may turn out to be a bad one."""


def spikes(close: Floats) -> Spikes:
    """The closes that are far from the last close that is not a bad print."""
    limit = math.log(SPIKE)
    bad: list[int] = []
    sudden: list[int] = []
    before = 0
    for bar in (far_apart(close[1:], close[:-1], limit) + 1).tolist():
        # After a bad print the last good close is still the one that it was judged by.
        before = before if bad[-1:] == [bar - 1] else bar - 1
        move = np.log(close[bar]) - np.log(close[before])
        if abs(move) <= limit:
            continue
        if bar == len(close) - 1:
            return Spikes(bad, sudden, undecided=True)
        back = np.log(close[bar + 1]) - np.log(close[bar])
        reversed_ = abs(back) > limit and (back > 0) != (move > 0)
        (bad if reversed_ else sudden).append(bar)
    return Spikes(bad, sudden, undecided=False)


def jumps(close: Floats) -> list[int]:
    """The bars whose close differs from the one before by more than the factor `JUMP`."""
    places: list[int] = (far_apart(close[1:], close[:-1], math.log(JUMP)) + 1).tolist()
    return places


def absurd(close: Floats, jumped: Sequence[int], splits: Mask) -> Mask:
    """One owner's bars at which the jumps among the last `BAD_WINDOW` are no real company's.

    A split is a jump like any other, except that it may be larger.
    """
    weights = np.zeros(len(close), np.intp)
    for bar in jumped:
        move = abs(np.log(close[bar]) - np.log(close[bar - 1]))
        weights[bar] = 1 + MAX_JUMPS * bool(move > math.log(JUMP_LIMIT) and not splits[bar])
    sums = np.cumsum(weights)
    sums[BAD_WINDOW:] -= sums[:-BAD_WINDOW].copy()
    return sums > MAX_JUMPS


def suspected_splits(bars: Bars) -> list[int]:
    """Bars whose open has the ratio of a split to the close before.

    The close must also stay at the new level, and the day must have an ordinary range: news that
    halves a price comes with a wide range, and a bad open is gone by the close.
    """
    least = math.log(min(FRACTIONS.values())) - math.log1p(SPLIT_TOLERANCE)
    wide = (far_apart(bars.open[1:], bars.close[:-1], least) + 1).tolist()
    found: list[int] = []
    for bar in wide:
        if _is_split(bars, bar, since=found[-1] if found else 0):
            found.append(bar)
    return found


def _is_split(bars: Bars, bar: int, since: int) -> bool:
    gap = math.log(bars.open[bar]) - math.log(bars.close[bar - 1])
    if abs(gap) > SPLIT_LOG and _has_ratio(gap, SPLIT_RATIOS):
        level, most = LEVEL_TOLERANCE, ORDINARY_RANGE
    elif _has_ratio(gap, FRACTIONS.values()) and _stands_out(bars, bar, since):
        level, most = FRACTION_LEVEL, FRACTION_RANGE
    else:
        return False
    before = np.median(bars.close[max(0, bar - LEVEL_BARS) : bar])
    shift = math.log(bars.close[bar]) - math.log(before)
    ranges = _ranges(bars, bar)
    return bool(
        abs(shift - gap) <= math.log1p(level) and ranges[-1] <= most * np.median(ranges[:-1])
    )


def _has_ratio(gap: float, ratios: Iterable[float]) -> bool:
    """Whether a gap in logs is that of a split of one of some ratios, or of its reverse."""
    return min(abs(abs(gap) - math.log(one)) for one in ratios) <= math.log1p(SPLIT_TOLERANCE)


def _ranges(bars: Bars, bar: int) -> Floats:
    """The ranges in logs of the usual bars before a bar, and of the bar."""
    recent = slice(max(0, bar - USUAL_BARS), bar + 1)
    ranges: Floats = np.log(bars.high[recent]) - np.log(bars.low[recent])
    return ranges


def _stands_out(bars: Bars, bar: int, since: int) -> bool:
    """Whether the gap before a bar is unlike those since a bar, on a day without much volume."""
    if bar - since < USUAL_BARS:
        return False
    first = max(since + 1, bar - GAPS)
    *before, gap = np.abs(np.log(bars.open[first : bar + 1] / bars.close[first - 1 : bar]))
    volume = bars.volume[bar - USUAL_BARS : bar + 1]
    usual = np.median(_ranges(bars, bar)[:-1])
    return bool(
        gap > OUTSTANDING_RANGES * usual > 0
        and gap > OUTSTANDING_GAPS * max(before)
        and not volume[-1] > FRACTION_VOLUME * np.median(volume[:-1])
    )


@dataclass(frozen=True, slots=True, eq=False)
class Idleness:
    """For each bar: how much of its owner's last year saw no trade."""

    share: Floats
    """Bars without a range or without volume, as a share of all; of fewer in the first year."""
    year: Mask
    """Whether a whole year has too many of them."""

    @classmethod
    def of(cls, bars: Bars, owners: Mask) -> Idleness:
        """The idleness of bars, of which `owners` are the first of further owners.

        A series that has shown no volume so far is judged by its ranges alone.
        """
        idle = (bars.volume == 0) & np.logical_or.accumulate(bars.volume > 0)
        idle |= bars.high == bars.low
        share = np.concatenate([trailing_share(idle[part], FLAT_BARS) for part in parts(owners)])
        year = share > FLAT_SHARE
        for part in parts(owners):
            year[part][: FLAT_BARS - 1] = False
        return cls(share, year)

    def take(self, keep: slice | Mask) -> Idleness:
        """That of the bars which a slice or a mask selects."""
        return Idleness(self.share[keep], self.year[keep])


class Gate(NamedTuple):
    """One reason to keep a symbol out."""

    refused: Mask
    """The bars on whose night the symbol was kept out."""
    refusal: RefusedInput
    """The reason, in words about the last bar."""


def gates(bars: Bars, idleness: Idleness) -> list[Gate]:
    """The gates that each bar of one series must pass to be served."""
    idle = idleness.share
    lively = bars_since(idleness.year)
    repeats = np.concatenate([[False], bars.close[1:] == bars.close[:-1]])
    stepped = trailing_share(repeats, FLAT_BARS)
    floor = DEFAULTS.atr_floor
    calm = log_atrs(bars) < floor
    flat = f"{idle[-1]:.0%} of the last year's bars have no range or no volume."
    few = f"{lively[-1]} bars are left; {MIN_BARS} are needed."
    steps = f"{stepped[-1]:.0%} of the last year's closes are the same as the one before."
    quiet = f"The price moves less than {floor:.1%} a day."
    return [
        Gate(idle > FLAT_SHARE, RefusedInput("flat_bars", flat)),
        Gate(lively < MIN_BARS, RefusedInput("too_few_bars", few)),
        Gate(stepped > STEPPED_SHARE, RefusedInput("stepped_price", steps)),
        Gate(calm, RefusedInput("low_volatility", quiet)),
    ]


def late(last_day: int | None, window: SessionWindow) -> RefusedInput | None:
    """Why nothing is served of a symbol whose last bar is not of its calendar's last session."""
    if last_day is None or last_day >= to_day(window.last):
        return None
    if last_day >= to_day(window.active_since):
        reason = f"The last usable bar is of {to_date(last_day)}; the session is {window.last}."
        return RefusedInput("behind", reason)
    days = to_day(window.last) - last_day
    return RefusedInput(
        "stale", f"The last usable bar is of {to_date(last_day)}, {days} days before the session."
    )
