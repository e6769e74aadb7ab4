"""Doubt: the reasons not to serve a symbol after its bars were cleaned.

Bars that cannot be trusted are refused outright. Sound bars without anything current to serve are
still analysed. Nothing here changes a bar.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from nightly.bars import Bars, Floats, to_date, to_day
from nightly.errors import Refusal
from nightly.parameters import Parameters
from nightly.reference import AssetType

MIN_BARS: Final = 60
GAP_DAYS: Final[Mapping[AssetType, int]] = {"stock": 10, "etf": 10, "crypto": 3}
"""A longer gap ends all forming setups; a last bar that is older at the session is stale."""

BAD_SHARE: Final = 0.01
"""A series is refused if a larger share of its raw bars contradict themselves."""
BAD_BARS: Final = 3
"""This many contradictions are accepted, however short the series."""
CONTRADICTIONS: Final = ("bad_bar", "price_outside_range", "weekend", "misprint")

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
"""Closes on either side of a split, whose medians must have the ratio of the split ..."""
LEVEL_TOLERANCE: Final = 0.25
"""... within this tolerance: after news the price moves on, after a split it does not."""
ORDINARY_RANGE: Final = 3.0
"""The day of a split has at most this many times the median range of the 20 bars before."""
USUAL_BARS: Final = 20

Mask = npt.NDArray[np.bool_]


def dated_ahead(bars: Bars, begun: dt.date) -> Refusal | None:
    """Refuse bars whose last date is in the future, because their other dates may be wrong too."""
    if not len(bars) or bars.date[-1] <= to_day(begun):
        return None
    last = to_date(bars.date[-1])
    return Refusal("future_date", f"The last bar is dated {last}, in the future; correct its date.")


def doubt(
    bars: Bars, given: int, idle_share: float, asset_type: AssetType, findings: dict[str, int]
) -> Refusal | None:
    """Refuse bars that cannot be trusted, and count the findings against them.

    `given` is the number of raw bars, `idle_share` the share of idle bars in the last year.
    """
    bad = sum(findings.get(rule, 0) for rule in CONTRADICTIONS)
    if bad > max(BAD_BARS, BAD_SHARE * given):
        return Refusal("bad_bars", f"{bad} of {given} bars contradict themselves.")
    if idle_share > FLAT_SHARE:
        return Refusal(
            "flat_bars", f"{idle_share:.0%} of the last year's bars have no range or no volume."
        )
    if len(bars) < MIN_BARS:
        return Refusal("too_few_bars", f"{len(bars)} bars are left; {MIN_BARS} are needed.")
    _count("flat_bar", bars.high == bars.low, findings)
    return (
        _stepped(bars)
        or (None if asset_type == "crypto" else _unadjusted(bars, findings))
        or _jumps(bars, findings)
    )


def rest(bars: Bars, asset_type: AssetType, as_of: int) -> Refusal | None:
    """Refuse sound bars that have nothing current to serve; their past trades still count."""
    age = as_of - int(bars.date[-1])
    if age > GAP_DAYS[asset_type]:
        last = to_date(bars.date[-1])
        reason = f"The last bar is of {last}, {age} days before the session."
        return Refusal("stale", reason, analysed=True)
    if mean_range(bars) < Parameters().atr_floor:
        reason = f"The price moves less than {Parameters().atr_floor:.1%} a day."
        return Refusal("low_volatility", reason, analysed=True)
    return None


def mean_range(bars: Bars) -> float:
    """The log ATR of the last bar; the detector draws no lines below a floor of it."""
    number = Parameters().atr_bars
    before = bars.close[-number - 1 : -1]
    high = np.maximum(bars.high[-number:], before)
    low = np.minimum(bars.low[-number:], before)
    return float(np.log(high / low).mean())


def suspected_splits(bars: Bars) -> list[int]:
    """Indices of bars whose open has the ratio of a split to the close before.

    The price must also stay at the new level, and the day must have an ordinary range: news that
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
    after = np.median(bars.close[bar : bar + LEVEL_BARS])
    shifted = abs(math.log(after / before) - gap) <= math.log1p(LEVEL_TOLERANCE)
    ranges = np.log(bars.high / bars.low)[max(0, bar - USUAL_BARS) : bar + 1]
    return shifted and float(ranges[-1]) <= ORDINARY_RANGE * float(np.median(ranges[:-1]))


def _stepped(bars: Bars) -> Refusal | None:
    share = float((np.diff(bars.close[-FLAT_BARS:]) == 0).mean())
    if share <= STEPPED_SHARE:
        return None
    return Refusal(
        "stepped_price", f"{share:.0%} of the last year's closes are the same as the one before."
    )


def _jumps(bars: Bars, findings: dict[str, int]) -> Refusal | None:
    moves = np.diff(np.log(bars.close))
    large = np.abs(moves) > math.log(SPIKE)
    spikes = large[:-1] & large[1:] & (moves[:-1] * moves[1:] < 0)
    _count("price_spike", spikes, findings)
    if spikes.any():
        day = to_date(bars.date[1 + int(np.flatnonzero(spikes)[0])])
        return Refusal("price_spike", f"The close of {day} is a spike that the next bar reverses.")
    _count("price_jump", np.abs(moves) > math.log(JUMP), findings)
    jumps = findings.get("price_jump", 0)
    if jumps > MAX_JUMPS:
        reason = f"{jumps} closes differ from the one before by a factor over {JUMP:.0f}."
        return Refusal("price_jumps", reason)
    if float(np.abs(moves).max()) > math.log(JUMP_LIMIT):
        reason = f"A close differs from the one before by a factor over {JUMP_LIMIT:.0f}."
        return Refusal("price_jumps", reason)
    return None


def _unadjusted(bars: Bars, findings: dict[str, int]) -> Refusal | None:
    found = suspected_splits(bars)
    if not found:
        return None
    findings["unadjusted_split"] = len(found)
    first = to_date(bars.date[found[0]])
    return Refusal("unadjusted_split", f"The gap on {first} has the ratio of a split.")


def _count(rule: str, hits: Mask, findings: dict[str, int]) -> None:
    number = int(np.count_nonzero(hits))
    if number:
        findings[rule] = number
