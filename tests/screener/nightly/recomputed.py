"""The statistics of a night, computed a second time, from bars and event logs alone.

Written from docs/detector.md, without any code of `screener.nightly.results.placebo` or
`screener.nightly.statistics`, and without a kernel.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from statistics import fmean

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from screener.nightly.analysis import Task, cleaned_symbols, fate_of
from screener.nightly.bars import Bars, Floats, to_date
from screener.nightly.detector.events import EventLog, Outcome, Rows
from screener.nightly.plan import Order, plan
from screener.nightly.reference.reference import Listing
from screener.nightly.results.history import Lineages, ListingStatus
from screener.nightly.series import Series

PAIRS = 50
NEAREST, FARTHEST = 120, 480
ATR_BARS = 14
SQUEEZES = (6, 7)
FAMILY_OF = {1: "rising_wedge", 2: "falling_wedge", 3: "triangle", 4: "triangle", 5: "triangle"}
FAMILY_OF |= {6: "bullish_pennant", 7: "bearish_pennant"}
FATES = {
    ListingStatus.CURRENT: "current",
    ListingStatus.STOPPED: "stopped",
    ListingStatus.DELISTED: "delisted",
}
MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15
RUNNING_SESSIONS = 120


@dataclass(slots=True)
class Trade:
    """A resolved first attempt, with its random entries."""

    symbol: str
    family: str
    direction: int
    entered: dt.date
    won: bool
    lost: bool
    """At its stop; a trade that closed with its listing is neither won nor lost."""
    r: float
    move_pct: float
    risk_pct: float
    atr_pct: float
    held: int
    fate: str
    drawn: list[tuple[bool, float]]
    """Whether each random entry reached its target, and its R."""
    regimes: set[str] = field(default_factory=set)
    """What the market did; `recomputed_groups.mark_regimes` fills it in."""

    @property
    def half_year(self) -> int:
        """The half year of entry."""
        return 2 * self.entered.year + (self.entered.month > 6)

    @property
    def decade(self) -> int:
        """The first year of the decade of entry."""
        return self.entered.year // 10 * 10

    @property
    def lift(self) -> float:
        """R above the mean R of the trade's own random entries."""
        return self.r - fmean(r for _, r in self.drawn)


@dataclass(frozen=True, slots=True, eq=False)
class Walk:
    """One series of a symbol with its event log, before open trades are closed at its end."""

    listing: Listing
    series: Series
    log: EventLog
    fate: ListingStatus
    newest: bool
    covered: bool

    @property
    def ended(self) -> bool:
        """Whether the symbol's listing ended with the last bar."""
        return self.newest and self.fate is ListingStatus.DELISTED


@dataclass(frozen=True, slots=True, eq=False)
class Recomputed:
    """The walks and the resolved first attempts of a night."""

    walks: list[Walk]
    trades: list[Trade]
    start: int
    """The day number of the first bar of any symbol with 60 bars before it."""


def recompute(order: Order, now: dt.datetime) -> Recomputed:
    """Walk every symbol of an order and work out its trades."""
    walks = [walk for task in plan(order, now).tasks for walk in walks_of(task)]
    trades = [
        trade
        for walk in walks
        for trade in trades_of(walk, order.parameters.pole_bars + order.parameters.tip_bars)
    ]
    begun = [int(walk.series.bars.date[60]) for walk in walks if len(walk.series) > 60]
    return Recomputed(walks, trades, min(begun))


def walks_of(task: Task) -> Iterator[Walk]:
    """Every series of every symbol, walked."""
    for listing, _, cleaned in cleaned_symbols(task):
        for place, series in enumerate(cleaned.series, 1):
            fate = fate_of(cleaned, listing, task.windows[listing.calendar])
            log = task.walk(series, listing).walk.log
            newest = place == len(cleaned.series)
            yield Walk(listing, series, log, fate, newest, newest and cleaned.refusal is None)


def trades_of(walk: Walk, pole_bars: int) -> Iterator[Trade]:
    """The resolved first attempts of a series."""
    bars, log = walk.series.bars, walk.log
    atr = atrs(bars)
    for row in log.trades:
        version = log.versions[row["version"]]
        if version["attempt"] != 1:
            continue
        entry, d, price = int(row["entry"]), int(row["direction"]), float(row["entry_price"])
        stop, target = float(row["stop_price"]), float(row["target_price"])
        assert price == bars.close[entry]
        found = resolved(bars, entry, d, stop, target, ended=walk.ended)
        if found is None:
            assert row["outcome"] == Outcome.OPEN
            continue
        won, exit_bar, left = found
        closed = row["outcome"] == Outcome.OPEN  # the log knows nothing of the listing's end
        assert closed or (exit_bar, left) == (row["exit"], row["exit_price"])
        kind = int(version["type"])
        first = min(int(version["upper_start"]), int(version["lower_start"]))
        first -= pole_bars if kind in SQUEEZES else 0
        risk = abs(price - stop)
        yield Trade(
            symbol=walk.listing.symbol,
            family=FAMILY_OF[kind],
            direction=d,
            entered=to_date(int(bars.date[entry])),
            won=won,
            lost=not won and not closed,
            r=d * (left - price) / risk,
            move_pct=100 * d * (left / price - 1),
            risk_pct=100 * risk / price,
            atr_pct=100 * float(atr[entry]),
            held=exit_bar - entry,
            fate=FATES[walk.fate],
            drawn=random_entries(walk, atr, row, first),
        )


def resolved(
    bars: Bars, entry: int, d: int, stop: float, target: float, *, ended: bool
) -> tuple[bool, int, float] | None:
    """Whether a trade reached its target, its exit bar and its exit price; None while open."""
    worst, best = (bars.low, bars.high)[::d]
    for first in range(entry + 1, len(bars), 64):
        part = slice(first, first + 64)
        over = (d * (worst[part] - stop) <= 0) | (d * (best[part] - target) >= 0)
        if over.any():
            bar = first + int(over.argmax())
            if d * (worst[bar] - stop) <= 0:
                return False, bar, d * min(d * float(bars.open[bar]), d * stop)
            return True, bar, target
    last = len(bars) - 1
    return (False, last, float(bars.close[last])) if ended and entry < last else None


def atrs(bars: Bars) -> Floats:
    """The mean of the last 14 log true ranges of every bar; NaN where there are fewer."""
    high, low, close = np.log(bars.high), np.log(bars.low), np.log(bars.close)
    before = np.concatenate([[np.nan], close[:-1]])  # fmax and fmin pass over NaN
    ranges = np.fmax(high, before) - np.fmin(low, before)
    found = np.full(len(bars), np.nan)
    if len(bars) >= ATR_BARS:
        found[ATR_BARS - 1 :] = sliding_window_view(ranges, ATR_BARS).mean(axis=1)
    return found


def random_entries(walk: Walk, atr: Floats, row: Rows, first: int) -> list[tuple[bool, float]]:
    """The random entries of a trade whose pattern, with its pole, begins at the bar `first`."""
    bars, e, d = walk.series.bars, int(row["entry"]), int(row["direction"])
    text = f"{walk.listing.symbol} {to_date(int(bars.date[e])).isoformat()} {d:+d}"
    seed = int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")
    levels = (float(row["stop_price"]), float(row["target_price"]))
    reach = [abs(math.log(level / float(row["entry_price"]))) / atr[e] for level in levels]
    kept: list[tuple[bool, float]] = []
    for n in range(1, PAIRS + 1):
        u = NEAREST + split_mix(seed + n * GOLDEN) % (FARTHEST - NEAREST + 1)
        distance = e - first + u
        early, late = (drawn(walk, atr, e + side * distance, d, reach) for side in (-1, 1))
        if early is not None and late is not None and early[2] < first:
            kept += [early[:2], late[:2]]
    return kept


def drawn(
    walk: Walk, atr: Floats, bar: int, d: int, reach: Sequence[float]
) -> tuple[bool, float, int] | None:
    """Whether a random entry reached its target, its R and its exit bar; None if it is dropped."""
    bars = walk.series.bars
    if not ATR_BARS <= bar < len(bars) or atr[bar] == 0 or not walk.series.served[bar]:
        return None
    price = float(bars.close[bar])
    stop = price * math.exp(-d * reach[0] * atr[bar])
    target = price * math.exp(d * reach[1] * atr[bar])
    found = resolved(bars, bar, d, stop, target, ended=walk.ended)
    if found is None:
        return None
    won, exit_bar, left = found
    return won, d * (left - price) / abs(price - stop), exit_bar


def split_mix(state: int) -> int:
    """The finaliser of SplitMix64."""
    state &= MASK
    state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    state = (state ^ (state >> 27)) * 0x94D049BB133111EB & MASK
    return state ^ (state >> 31)


def identities(walk: Walk, session: dt.date) -> Iterator[tuple[str, Rows, Rows | None]]:
    """The setup id, the version and the open trade (or None) of every setup that is served."""
    log, bars = walk.log, walk.series.bars
    names = Lineages(walk.listing.symbol, bars, log)
    last = len(bars) - 1
    forming: list[tuple[int, Rows | None]] = [
        (number, None) for number in np.flatnonzero(log.versions["end"] < 0).tolist()
    ]
    running = [row for row in log.trades if row["outcome"] == Outcome.OPEN]
    young = [row for row in running if last - row["entry"] <= RUNNING_SESSIONS]
    for number, trade in forming + [(int(row["version"]), row) for row in young]:
        version = log.versions[number]
        lineage, attempt = int(version["lineage"]), int(version["attempt"])
        yield names.setup_id(number, lineage, attempt, last, session), version, trade
