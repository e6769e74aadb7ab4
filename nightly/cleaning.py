"""Cleaning: what of a symbol's raw bars is analysed, and why a symbol is left out.

Every rule has a name under which it counts what it touched. A price is never made up: bars are
dropped, a range is widened to hold its own open and close, splits that the reference gives are
applied, and what looks wrong beyond that keeps the symbol out for the night.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from nightly.bars import Bars, Floats, to_date, to_day
from nightly.errors import Refusal
from nightly.reference import Adjustment, AssetType, Split

MIN_BARS: Final = 60
REUSE_DAYS: Final = 90
"""A longer gap in calendar days separates two owners of one ticker."""
GAP_DAYS: Final[Mapping[AssetType, int]] = {"stock": 10, "etf": 10, "crypto": 3}
"""A longer gap ends what was forming; a last bar older than this before the session is stale."""
LOW_ATR: Final = 0.002
"""Mean true range over 14 bars, as a share of the last close, below which nothing is drawn."""

SPLIT_LOG: Final = 0.5
SPLIT_TOLERANCE: Final = 0.02
SPLIT_RATIOS: Final = (2, 3, 4, 5, 6, 7, 8, 10, 15, 20, 25, 30, 50, 100)

BAD_SHARE: Final = 0.01
"""Share of raw bars that contradict themselves above which the whole series is doubted."""
BAD_BARS: Final = 3
"""So many contradictions are forgiven however short the series."""
OUTSIDE: Final = 0.01
"""An open or close this share beyond the range is a contradiction; less is rounding."""
FLAT_SHARE: Final = 0.4
"""Share of the last year's bars without any range above which nothing is traded."""
FLAT_BARS: Final = 250
SPIKE: Final = 3.0
"""A close this many times the one before and back on the next bar is a bad print."""
JUMP: Final = 5.0
MAX_JUMPS: Final = 1
"""One jump of this size happens to real companies; a second one has not been seen in sound data."""

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Cleaned:
    """The bars to analyse (none where the symbol is refused outright) and what was found.

    A refusal whose `analysed` is true leaves the bars in place: they count in the statistics, and
    nothing current is served from them.
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
    """Clean the bars of one symbol up to a session, `as_of` being its day number.

    Splits are applied only to bars that are raw (`adjustment` is `none`), and only those up to the
    last bar: a later split is not known on that session.
    """
    findings: dict[str, int] = {}
    bars = raw.until(as_of)
    given = len(bars)
    bars = _without_bad_bars(bars, findings)
    bars = _with_whole_ranges(bars, findings)
    bars = _without_halts(bars, findings)
    if asset_type != "crypto":
        bars = _without_weekends(bars, findings)
    if adjustment == "none":
        bars = _with_splits(bars, splits, findings)
    bars = _newest_series(bars, findings)
    _count("gap", int(np.count_nonzero(np.diff(bars.date) > GAP_DAYS[asset_type])), findings)
    refusal = _doubt(bars, given, asset_type, findings) or _rest(bars, asset_type, as_of)
    if refusal is not None and not refusal.analysed:
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
    """Ranges that hold open and close, and volumes that are numbers: no volume known is none."""
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


def _without_weekends(bars: Bars, findings: dict[str, int]) -> Bars:
    """No American exchange opens on a weekend: such a bar is dated wrongly or made up."""
    return _dropped(bars, (bars.date + 3) % 7 >= 5, "weekend", findings)


def _with_splits(bars: Bars, splits: Sequence[Split], findings: dict[str, int]) -> Bars:
    """Prices and volumes in the shares of the last bar."""
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


def _doubt(
    bars: Bars, given: int, asset_type: AssetType, findings: dict[str, int]
) -> Refusal | None:
    """Why the bars cannot be trusted, if they cannot; counts what speaks against them."""
    bad = findings.get("bad_bar", 0) + findings.get("price_outside_range", 0)
    bad += findings.get("weekend", 0)
    if bad > max(BAD_BARS, BAD_SHARE * given):
        return Refusal("bad_bars", f"{bad} of {given} bars contradict themselves.")
    if len(bars) < MIN_BARS:
        return Refusal("too_few_bars", f"{len(bars)} bars; {MIN_BARS} are needed.")
    flat = bars.high == bars.low
    _count("flat_bar", int(np.count_nonzero(flat)), findings)
    share = float(flat[-FLAT_BARS:].mean())
    if share > FLAT_SHARE:
        return Refusal("flat_bars", f"{share:.0%} of the last year's bars have no range at all.")
    return _jumps(bars, findings) or (
        None if asset_type == "crypto" else _unadjusted(bars, findings)
    )


def _jumps(bars: Bars, findings: dict[str, int]) -> Refusal | None:
    moves = np.diff(np.log(bars.close))
    large = np.abs(moves) > math.log(SPIKE)
    spikes = large[:-1] & large[1:] & (moves[:-1] * moves[1:] < 0)
    number = int(np.count_nonzero(spikes))
    _count("price_spike", number, findings)
    if number:
        day = to_date(bars.date[1 + int(np.flatnonzero(spikes)[0])])
        return Refusal("price_spike", f"The close leaps and falls back on {day}.")
    jumps = int(np.count_nonzero(np.abs(moves) > math.log(JUMP)))
    _count("price_jump", jumps, findings)
    if jumps > MAX_JUMPS:
        return Refusal("price_jumps", f"{jumps} closes are {JUMP:.0f} times the one before.")
    return None


def _unadjusted(bars: Bars, findings: dict[str, int]) -> Refusal | None:
    found = suspected_splits(bars)
    _count("unadjusted_split", len(found), findings)
    if not found:
        return None
    first = to_date(bars.date[found[0]])
    return Refusal("unadjusted_split", f"The gap on {first} has the ratio of a split.")


def suspected_splits(bars: Bars) -> list[int]:
    """Indices of bars whose open stands to the close before as shares do across a split."""
    gaps: Floats = np.abs(np.log(bars.open[1:]) - np.log(bars.close[:-1]))
    wide = np.flatnonzero(gaps > SPLIT_LOG)
    ratios = np.log(np.array(SPLIT_RATIOS))
    near = np.abs(gaps[wide, None] - ratios).min(axis=1, initial=np.inf)
    return [int(bar) + 1 for bar in wide[near <= math.log1p(SPLIT_TOLERANCE)]]


def _rest(bars: Bars, asset_type: AssetType, as_of: int) -> Refusal | None:
    """Why sound bars serve nothing tonight, though their past trades count."""
    age = as_of - int(bars.date[-1])
    if age > GAP_DAYS[asset_type]:
        last = to_date(bars.date[-1])
        return Refusal("stale", f"The last bar is of {last}, {age} days old.", analysed=True)
    if mean_range(bars) < LOW_ATR:
        reason = f"The price moves less than {LOW_ATR:.1%} a day."
        return Refusal("low_volatility", reason, analysed=True)
    return None


def mean_range(bars: Bars) -> float:
    """The mean true range of the last 14 bars, as a share of the last close."""
    before = bars.close[-15:-1]
    high = np.maximum(bars.high[-14:], before)
    low = np.minimum(bars.low[-14:], before)
    return float((high - low).mean() / bars.close[-1])
