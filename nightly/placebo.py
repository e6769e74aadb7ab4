"""Placebo trades: the stops and targets of real trades, taken at random later dates.

Why: a trade whose target is three times as far away as its stop reaches the target about a quarter
of the time on a driftless walk, and more often in a rising market, without any pattern. A win rate
alone therefore says little.

How: for every resolved first attempt three entries are drawn, uniformly 40 to 400 bars after the
real one. The formation is then over, but the symbol and roughly its market are the same. Each draw
keeps the direction and the logarithmic distances of stop and target and is resolved by the same
rule. The share of draws that reach the target is what those stops and targets achieve by
themselves; the difference from the real trades is what the pattern adds. On 6,717 surviving US
stocks no family differed from its placebo by two standard errors, so every `measured` sentence
states the share.

Draws depend only on the symbol, the entry date and the direction, not on the order of trades, the
process or the length of the series. A resolved draw therefore stays the same when bars are
appended. A draw past the end of the series is dropped, not redrawn. Dropping depends on the
calendar and not on the outcome; redrawing within the remaining bars would change every night and
crowd the last bars. Open draws are left out of the rates, as open trades are. A night as of t
passes bars up to t.
"""

from __future__ import annotations

import datetime as dt
from hashlib import blake2b
from typing import Final

import numpy as np
import numpy.typing as npt

from nightly.bars import Bars, Floats, to_date
from nightly.events import TRADE, Outcome, Rows
from nightly.kernel.placebo import BAR, resolve_draws
from nightly.series import Mask

DRAWS: Final = 3  # placebo entries for each trade
NEAREST: Final = 40  # bars after the real entry, inclusive
FARTHEST: Final = 400

Seeds = npt.NDArray[np.uint64]

DRAW = np.dtype(
    [
        ("entry", "i4"),  # bar index, -1 if dropped past the end of the series
        ("exit", "i4"),  # bar index, -1 without one
        ("outcome", "i1"),  # Outcome; OPEN too if dropped
        ("r", "f8"),  # R multiple: (exit - entry) over entry to stop, signed; NaN without an exit
    ]
)


def seed_of(symbol: str, entry: dt.date, direction: int) -> int:
    """The 64-bit seed of a trade's draws; direction is +1 or -1."""
    text = f"{symbol} {entry.isoformat()} {direction:+d}"
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")


def placebo(
    bars: Bars,
    entries: npt.NDArray[np.integer],
    directions: npt.NDArray[np.integer],
    stop_distance: Floats,
    target_distance: Floats,
    seeds: Seeds,
) -> Rows:
    """`DRAW` rows of shape (trades, `DRAWS`) for real trades that entered at the bars `entries`.

    Directions are +1 or -1. Distances are measured from the entry's close, as natural logs of price
    ratios.

    Raises:
        ValueError: a distance is not a positive finite number.
    """
    for distance in (stop_distance, target_distance):
        if not np.all((distance > 0) & np.isfinite(distance)):
            raise ValueError("Pass stop and target distances as positive logs of price ratios.")
    entry = np.asarray(entries, dtype=np.int64)[:, None] + _offsets(seeds)
    direction = np.asarray(directions, dtype=np.int64)[:, None]
    # A draw past the end stays open, whatever its price is.
    price = bars.close[np.minimum(entry, len(bars) - 1)]
    stop = price * np.exp(-direction * stop_distance[:, None])
    target = price * np.exp(direction * target_distance[:, None])
    trades = _entered(entry, direction, price, stop, target)
    resolve_draws(_walked(bars), trades.reshape(-1))
    return _draws(trades, len(bars))


def placebo_of(
    symbol: str, bars: Bars, trades: Rows, *, served: Mask | None = None, ended: bool = False
) -> Rows:
    """The draws of `TRADE` rows of one series; pass its resolved first attempts.

    A draw that enters on a bar whose night did not serve the symbol is dropped like one past the
    end, since no trade is entered there; without `served` every night did.
    If the symbol's listing `ended` with the last bar, open draws close there, as open trades do.
    """
    seeds = [
        seed_of(symbol, to_date(bars.date[trade["entry"]]), int(trade["direction"]))
        for trade in trades
    ]
    draws = placebo(
        bars,
        trades["entry"],
        trades["direction"],
        np.abs(np.log(trades["stop_price"] / trades["entry_price"])),
        np.abs(np.log(trades["target_price"] / trades["entry_price"])),
        np.array(seeds, dtype=np.uint64),
    )
    if served is not None:
        unserved = (draws["entry"] >= 0) & ~served[np.maximum(draws["entry"], 0)]
        draws["entry"][unserved] = draws["exit"][unserved] = -1
        draws["outcome"][unserved] = Outcome.OPEN
        draws["r"][unserved] = np.nan
    return _closed_at_end(bars, trades, draws) if ended else draws


def _closed_at_end(bars: Bars, trades: Rows, draws: Rows) -> Rows:
    last = len(bars) - 1
    left = (draws["outcome"] == Outcome.OPEN) & (draws["entry"] >= 0) & (draws["entry"] < last)
    entry = bars.close[np.maximum(draws["entry"], 0)]
    direction = trades["direction"].astype(np.float64)[:, None]
    # Stop distances are those of the trade in logs, at the draw's own price.
    distance = np.abs(np.log(trades["stop_price"] / trades["entry_price"]))[:, None]
    risk = entry * np.abs(1 - np.exp(-direction * distance))
    draws["r"] = np.where(left, direction * (bars.close[-1] - entry) / risk, draws["r"])
    draws["exit"] = np.where(left, last, draws["exit"])
    draws["outcome"] = np.where(left, Outcome.DELISTED, draws["outcome"])
    return draws


def _offsets(seeds: Seeds) -> npt.NDArray[np.int64]:
    """`DRAWS` bar offsets for each seed, made by the finaliser of SplitMix64."""
    steps = np.arange(1, DRAWS + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed = seeds[:, None] + steps
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    later: npt.NDArray[np.int64] = (mixed % np.uint64(FARTHEST - NEAREST + 1)).astype(np.int64)
    return later + NEAREST


def _entered(
    entry: npt.NDArray[np.int64],
    direction: npt.NDArray[np.int64],
    price: Floats,
    stop: Floats,
    target: Floats,
) -> Rows:
    trades = np.zeros(entry.shape, dtype=TRADE)
    trades["entry"] = entry
    trades["direction"] = direction
    trades["entry_price"] = price
    trades["stop_price"] = stop
    trades["target_price"] = target
    trades["exit"] = -1
    trades["exit_price"] = np.nan
    trades["outcome"] = Outcome.OPEN
    return trades


def _walked(bars: Bars) -> Rows:
    rows = np.empty(len(bars), dtype=BAR)
    rows["open"], rows["high"], rows["low"] = bars.open, bars.high, bars.low
    return rows


def _draws(trades: Rows, length: int) -> Rows:
    draws = np.empty(trades.shape, dtype=DRAW)
    draws["entry"] = np.where(trades["entry"] < length, trades["entry"], -1)
    draws["exit"] = trades["exit"]
    draws["outcome"] = trades["outcome"]
    gain = trades["direction"] * (trades["exit_price"] - trades["entry_price"])
    draws["r"] = gain / np.abs(trades["entry_price"] - trades["stop_price"])
    return draws
