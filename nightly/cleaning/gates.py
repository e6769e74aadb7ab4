"""Doubt: what speaks against serving a symbol on a night, decided for every past night alike.

Each function looks at a bar and those before it, so a night of any day decides as it did then. What
makes earlier and later prices incomparable cuts the bars into series; what only makes lines
meaningless keeps a symbol out for as long as it lasts. Nothing here changes a bar.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from nightly.bars import Bars, Floats, to_date, to_day
from nightly.errors import Refusal
from nightly.parameters import Parameters
from nightly.reference import AssetType
from nightly.series import Mask, Places, bars_since, trailing_mean, trailing_share
from nightly.sessions import Window

MIN_BARS: Final = 60
GAP_DAYS: Final[Mapping[AssetType, int]] = {"stock": 10, "etf": 10, "crypto": 3}
"""A longer gap ends all forming setups."""

BAD_SHARE: Final = 0.01
"""Bars are refused while a larger share of the raw bars so far contradict themselves."""
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
LEVEL_BARS: Final = 5
"""Closes before a split; the close of its day must have its ratio to their median ..."""
LEVEL_TOLERANCE: Final = 0.25
"""... within this tolerance: an open that is gone by the close is no split."""
ORDINARY_RANGE: Final = 3.0
"""The day of a split has at most this many times the median range of the 20 bars before."""
USUAL_BARS: Final = 20


def untrusted(contradictions: Mask, rows: Places) -> Mask:
    """Kept bars at which too many of the raw bars so far contradict themselves.

    `contradictions` has one value for each raw bar, `rows` the raw place of each kept bar.
    """
    if not contradictions.any():
        return np.zeros(len(rows), np.bool_)
    so_far = np.cumsum(contradictions)[rows]
    return np.asarray(so_far > np.maximum(BAD_BARS, BAD_SHARE * (rows + 1)))


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
    logs = np.log(close)
    bad: list[int] = []
    sudden: list[int] = []
    before = 0
    for bar in (np.flatnonzero(np.abs(np.diff(logs)) > limit) + 1).tolist():
        # After a bad print the last good close is still the one that it was judged by.
        before = before if bad[-1:] == [bar - 1] else bar - 1
        move = logs[bar] - logs[before]
        if abs(move) <= limit:
            continue
        if bar == len(close) - 1:
            return Spikes(bad, sudden, undecided=True)
        back = logs[bar + 1] - logs[bar]
        reversed_ = abs(back) > limit and (back > 0) != (move > 0)
        (bad if reversed_ else sudden).append(bar)
    return Spikes(bad, sudden, undecided=False)


def jumps(close: Floats) -> list[int]:
    """The bars whose close differs from the one before by more than the factor `JUMP`."""
    moves = np.abs(np.diff(np.log(close)))
    return [int(bar) + 1 for bar in np.flatnonzero(moves > math.log(JUMP))]


def absurd_from(close: Floats, splits: Mask) -> int | None:
    """The first bar of one owner at which its jumps are no longer those of a real company.

    A split is a jump like any other, except that it may be larger.
    """
    found = jumps(close)
    limit, logs = math.log(JUMP_LIMIT), np.log(close)
    absurd = [bar for bar in found if not splits[bar] and abs(logs[bar] - logs[bar - 1]) > limit]
    return min([*absurd, *found[MAX_JUMPS : MAX_JUMPS + 1]], default=None)


def suspected_splits(bars: Bars) -> list[int]:
    """Bars whose open has the ratio of a split to the close before.

    The close must also stay at the new level, and the day must have an ordinary range: news that
    halves a price comes with a wide range, and a bad open is gone by the close.
    """
    gaps: Floats = np.log(bars.open[1:]) - np.log(bars.close[:-1])
    wide = np.flatnonzero(np.abs(gaps) > SPLIT_LOG)
    ratios = np.log(np.array(SPLIT_RATIOS))
    near = np.abs(np.abs(gaps[wide, None]) - ratios).min(axis=1, initial=np.inf)
    split = wide[near <= math.log1p(SPLIT_TOLERANCE)]
    return [int(bar) + 1 for bar in split if _is_level_shift(bars, int(bar) + 1, gaps[bar])]


def _is_level_shift(bars: Bars, bar: int, gap: float) -> bool:
    before = np.median(bars.close[max(0, bar - LEVEL_BARS) : bar])
    shifted = abs(math.log(bars.close[bar]) - math.log(before) - gap) <= math.log1p(LEVEL_TOLERANCE)
    recent = slice(max(0, bar - USUAL_BARS), bar + 1)
    ranges = np.log(bars.high[recent]) - np.log(bars.low[recent])
    return shifted and float(ranges[-1]) <= ORDINARY_RANGE * float(np.median(ranges[:-1]))


@dataclass(frozen=True, slots=True, eq=False)
class Idleness:
    """For each bar: how much of its owner's last year saw no trade."""

    share: Floats
    """Bars without a range or without volume, as a share of all; of fewer in the first year."""
    year: Mask
    """Whether a whole year has too many of them."""

    @classmethod
    def of(cls, bars: Bars, owner: Places) -> Idleness:
        """The idleness of bars whose owners begin at the bars `owner`.

        A series that has shown no volume so far is judged by its ranges alone.
        """
        idle = bars.high == bars.low
        idle |= (bars.volume == 0) & np.maximum.accumulate(bars.volume > 0)
        share = trailing_share(idle, FLAT_BARS, owner)
        whole = np.arange(1, len(bars) + 1) - owner >= FLAT_BARS
        return cls(share, (share > FLAT_SHARE) & whole)

    def take(self, keep: slice | Mask) -> Idleness:
        """That of the bars which a slice or a mask selects."""
        return Idleness(self.share[keep], self.year[keep])


@dataclass(frozen=True, slots=True, eq=False)
class Doubts:
    """For each bar of one series: what speaks against serving it on its night."""

    idle: Floats
    few: Places
    """Bars since the series began or last was idle."""
    stepped: Floats
    calm: Floats

    @classmethod
    def of(cls, bars: Bars, idleness: Idleness) -> Doubts:
        """The doubts about the bars of one series."""
        repeats = np.concatenate([[False], np.diff(bars.close) == 0])
        return cls(
            idleness.share,
            bars_since(idleness.year),
            trailing_share(repeats, FLAT_BARS),
            trailing_mean(true_ranges(bars), Parameters().atr_bars),
        )

    @property
    def served(self) -> Mask:
        """The bars about which there is no doubt."""
        doubted = (self.idle > FLAT_SHARE) | (self.few < MIN_BARS)
        return ~(doubted | (self.stepped > STEPPED_SHARE) | (self.calm < Parameters().atr_floor))

    def tonight(self) -> Refusal | None:
        """The first doubt about the last bar, in words."""
        idle, few, stepped, calm = (
            column[-1].item() for column in (self.idle, self.few, self.stepped, self.calm)
        )
        if idle > FLAT_SHARE:
            return Refusal(
                "flat_bars", f"{idle:.0%} of the last year's bars have no range or no volume."
            )
        if few < MIN_BARS:
            return Refusal("too_few_bars", f"{few} bars are left; {MIN_BARS} are needed.")
        if stepped > STEPPED_SHARE:
            reason = f"{stepped:.0%} of the last year's closes are the same as the one before."
            return Refusal("stepped_price", reason)
        if calm < Parameters().atr_floor:
            floor = Parameters().atr_floor
            return Refusal("low_volatility", f"The price moves less than {floor:.1%} a day.")
        return None


def true_ranges(bars: Bars) -> Floats:
    """The true range of every bar in logs: its range, widened to the close before it."""
    before = np.concatenate([bars.close[:1], bars.close[:-1]])
    top, bottom = np.maximum(bars.high, before), np.minimum(bars.low, before)
    ranges: Floats = np.log(top) - np.log(bottom)
    return ranges


def late(last_day: int | None, window: Window) -> Refusal | None:
    """Why nothing is served of a symbol whose last bar is not of its calendar's last session."""
    if last_day is None or last_day >= to_day(window.last):
        return None
    if last_day >= to_day(window.active_since):
        reason = f"The last bar is of {to_date(last_day)}; the session is {window.last}."
        return Refusal("behind", reason)
    days = to_day(window.last) - last_day
    return Refusal(
        "stale", f"The bars stop on {to_date(last_day)}, {days} days before the session."
    )
