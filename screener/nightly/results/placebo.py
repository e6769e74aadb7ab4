"""Placebo trades: random entries on both sides of a real trade, with its stop and target.

Why: a trade whose target is three times as far away as its stop reaches the target about a quarter
of the time on a driftless walk, and more often in a rising market, without any pattern. A win rate
alone therefore says little.

How: for every resolved first attempt 50 pairs of entries are drawn. The two of a pair are equally
far from the real entry, one before it and one after it, so that a trend in price or in volatility
that runs through all three counts alike. Each has the direction of the trade, and its stop and
target at the same distance in ATR, and is resolved by the same rule.

Which pairs are left out: those of which one cannot be resolved, and those whose earlier trade still
runs when the pattern, or the pole before it, begins. The pole is what made the pattern: a short
that is held through the pole of a bullish pennant is no control. A whole pair is left out, since
one half alone would lean to one side. But pairs that run long are left out more often, and winners
run longer than losers. Entries therefore lie at least 120 bars further away than the pattern is
long, which leaves few pairs out: with 40 bars, tried first, the early entries of trades with the
stops and targets of bullish pennants lost 0.06 R by it on driftless walks, with 120 none that could
be measured.

Draws depend only on the symbol, the entry date and the direction, not on the order of trades, the
process or the length of the series. A resolved pair therefore stays the same when bars are
appended. A pair past an end of the series is dropped, not redrawn, because redrawing would change
every night and crowd the bars at the end. A night as of t passes bars up to t.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

import numpy as np
import numpy.typing as npt

from screener.nightly.bars import Bars, Floats, to_date
from screener.nightly.detector.detector import close_at_end, log_atrs, resolve
from screener.nightly.detector.events import TRADE, EventLog, Outcome, PatternType, Rows
from screener.nightly.detector.parameters import DEFAULTS, Parameters
from screener.nightly.results.splitmix import Seeds, integers
from screener.nightly.series import Series

PAIRS: Final = 50  # pairs of placebo entries for each trade
MIN_DISTANCE: Final = 120  # bars by which an entry is further away than the pattern is long
MAX_DISTANCE: Final = 480  # inclusive

DRAW = np.dtype(
    [
        ("entry", "i4"),  # bar index, -1 if the pair was left out
        ("exit", "i4"),  # bar index, -1 without one
        ("outcome", "i1"),  # Outcome; OPEN if the pair was left out
        ("r", "f8"),  # R multiple: (exit - entry) over entry to stop, signed; NaN without an exit
        ("final", "?"),  # whether no later bar can change it, nor whether it is left out
    ]
)

Places = npt.NDArray[np.int64]


def seeds_of(symbol: str, bars: Bars, trades: Rows) -> Seeds:
    """The 64-bit seeds of the draws of `TRADE` rows."""
    found = []
    for trade in trades:
        text = f"{symbol} {to_date(bars.date[trade['entry']])} {trade['direction']:+d}"
        digest = blake2b(text.encode(), digest_size=8).digest()
        found.append(int.from_bytes(digest, "big"))
    return np.array(found, dtype=np.uint64)


def placebo(
    series: Series,
    log: EventLog,
    trades: Rows,
    seeds: Seeds,
    parameters: Parameters = DEFAULTS,
    *,
    ended: bool = False,
) -> Rows:
    """`DRAW` rows of shape (trades, `PAIRS`, 2) for `TRADE` rows of a log, the earlier entry first.

    If the symbol's listing `ended` with the last bar, open draws close there, as open trades do.
    """
    if not len(trades):
        return np.empty((0, PAIRS, 2), DRAW)
    firsts = first_bars(log.versions[trades["version"]], parameters)
    entries = _entries(trades, firsts, seeds)
    # The bars before the first draw and the window of its ATR play no part.
    origin = max(0, int(entries.min()) - parameters.atr_bars - 1)
    tail, entries, firsts = series.since(origin), entries - origin, firsts - origin
    bars, atr = tail.bars, log_atrs(tail.bars, parameters)
    usable = _usable(tail, entries, atr, parameters)
    draws = _entered(bars, trades, entries, atr)
    draws[usable] = _resolved(bars, draws[usable], ended=ended)
    resolved = (draws["outcome"] != Outcome.OPEN).all(axis=-1)
    kept = usable & resolved & (draws["exit"][..., 0] < firsts[:, None])
    found = _draws(draws, kept, origin)
    found["final"] = ((entries[..., 1] < len(tail)) & (resolved | ~usable))[..., None]
    return found


def first_bars(versions: Rows, parameters: Parameters) -> Places:
    """For each `VERSION` row the first bar of the pattern, or of the stretch its pole lies in."""
    start = np.minimum(versions["upper_start"], versions["lower_start"]).astype(np.int64)
    kind = versions["type"]
    poled = (kind == PatternType.BULLISH_SQUEEZE) | (kind == PatternType.BEARISH_SQUEEZE)
    firsts: Places = start - np.where(poled, parameters.pole_bars + parameters.tip_bars, 0)
    return firsts


def _entries(trades: Rows, firsts: Places, seeds: Seeds) -> Places:
    """The bars of all entries, of shape (trades, `PAIRS`, 2); some are outside the series."""
    entry = trades["entry"].astype(np.int64)
    beyond = MIN_DISTANCE + integers(seeds, PAIRS, MAX_DISTANCE - MIN_DISTANCE + 1)
    distance = (entry - firsts)[:, None] + beyond
    return entry[:, None, None] + np.stack([-distance, distance], axis=-1)


def _usable(
    series: Series, entries: Places, atr: Floats, parameters: Parameters
) -> npt.NDArray[np.bool_]:
    """Which pairs can be entered: inside the series, on served bars, where there is an ATR."""
    at = np.clip(entries, 0, len(series) - 1)
    fine = (entries >= parameters.atr_bars) & (entries < len(series))
    return np.asarray((fine & series.served[at] & (atr[at] > 0)).all(axis=-1))


def _entered(bars: Bars, trades: Rows, entries: Places, atr: Floats) -> Rows:
    """Open `TRADE` rows at the entries, stops and targets as far in ATR as those of the trades."""
    at = np.clip(entries, 0, len(bars) - 1)
    price, scale = bars.close[at], atr[at] / trades["atr"][:, None, None]
    direction = trades["direction"].astype(np.int64)[:, None, None]
    draws = np.zeros(entries.shape, dtype=TRADE)
    draws["entry"], draws["direction"], draws["entry_price"] = entries, direction, price
    for name, sign in (("stop_price", -direction), ("target_price", direction)):
        distance = np.abs(np.log(trades[name] / trades["entry_price"]))[:, None, None]
        draws[name] = price * np.exp(sign * distance * scale)
    draws["exit"], draws["exit_price"], draws["outcome"] = -1, np.nan, Outcome.OPEN
    return draws


def _resolved(bars: Bars, draws: Rows, *, ended: bool) -> Rows:
    flat = draws.reshape(-1)
    resolve(bars, flat)
    if ended:
        close_at_end(bars, flat)
    return flat.reshape(draws.shape)


def _draws(resolved: Rows, kept: npt.NDArray[np.bool_], origin: int) -> Rows:
    draws = np.empty(resolved.shape, dtype=DRAW)
    gain = resolved["direction"] * (resolved["exit_price"] - resolved["entry_price"])
    r = gain / np.abs(resolved["entry_price"] - resolved["stop_price"])
    both = kept[..., None]
    draws["entry"] = np.where(both, resolved["entry"] + origin, -1)
    draws["exit"] = np.where(both, resolved["exit"] + origin, -1)
    draws["outcome"] = np.where(both, resolved["outcome"], Outcome.OPEN)
    draws["r"] = np.where(both, r, np.nan)
    return draws
