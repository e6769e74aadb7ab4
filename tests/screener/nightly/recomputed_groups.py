"""Groups of trades, computed a second time: records, errors, regimes and the stepdown.

`tests.screener.nightly.recomputed` works out the trades, and says what neither module uses.
"""

from __future__ import annotations

import datetime as dt
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import fmean, median
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.screener.nightly.recomputed import GOLDEN, Recomputed, Trade, Walk, split_mix

RESAMPLES, SEED = 2000, 20261122
FEW, FEW_HALF_YEARS = 30, 10
MIN_STOCKS = 20


def clustered(values: Sequence[float], times: Sequence[int]) -> tuple[float, float | None]:
    """A mean and its standard error with the trades of one time as a cluster."""
    mean = fmean(values)
    sums: dict[int, float] = defaultdict(float)
    for value, time in zip(values, times, strict=True):
        sums[time] += value - mean
    number = len(sums)
    if number < 2:
        return mean, None
    spread = sum(total * total for total in sums.values()) * number / (number - 1)
    return mean, math.sqrt(spread) / len(values)


def wilson_pct(wins: int, trades: int) -> tuple[float, float]:
    """The roots of (p - share)^2 = z^2 p (1 - p) / n, which Wilson's interval lies between."""
    share, z = wins / trades, 1.959963984540054
    roots = np.roots([1 + z * z / trades, -2 * share - z * z / trades, share * share])
    low, high = sorted(float(root.real) for root in roots)
    return 100 * max(0.0, low), 100 * min(1.0, high)


def too_few(compared: Sequence[Trade]) -> bool:
    """Whether compared trades are too few to be tested."""
    times = {trade.half_year for trade in compared}
    return len(compared) < FEW or len(times) < FEW_HALF_YEARS


def side_of(trades: Sequence[Trade], prior: float = 0.0) -> dict[str, Any]:
    """The numbers of a `SideRecord`, except its verdict, not rounded.

    The expected R is shrunk towards a prior.
    """
    compared = [trade for trade in trades if trade.drawn]
    lift, error = (
        clustered([trade.lift for trade in compared], [trade.half_year for trade in compared])
        if compared
        else (None, None)
    )
    if too_few(compared):
        error = None
    wins = [trade for trade in trades if trade.won]
    losses = [trade.move_pct for trade in trades if trade.lost]
    reached = [fmean(won for won, _ in trade.drawn) for trade in compared]
    drawn_r = [fmean(r for _, r in trade.drawn) for trade in compared]
    return {
        "sample_size": len(trades),
        "wins": len(wins),
        "win_rate_pct": 100 * len(wins) / len(trades),
        "win_rate_ci95": list(wilson_pct(len(wins), len(trades))),
        "avg_win_pct": fmean(trade.move_pct for trade in wins) if wins else None,
        "avg_loss_pct": fmean(losses) if losses else None,
        "avg_r": fmean(trade.r for trade in trades),
        "expected_r": shrunk(trades, prior),
        "compared": len(compared),
        "placebo_win_rate_pct": 100 * fmean(reached) if compared else None,
        "placebo_avg_r": fmean(drawn_r) if compared else None,
        "lift_r": lift,
        "lift_r_se": error,
    }


def record_of(trades: Sequence[Trade]) -> dict[str, Any]:
    """The numbers of a family's `TrackRecord`, except its verdict, not rounded."""
    moves = [trade.move_pct for trade in trades]
    won = [trade.move_pct for trade in trades if trade.won]
    gained, lost = sum(m for m in moves if m > 0), -sum(m for m in moves if m < 0)
    return side_of(trades) | {
        "method_version": 2,
        "losses": sum(not trade.won for trade in trades),
        "median_win_pct": median(won) if won else None,
        "avg_trade_pct": fmean(moves),
        "profit_factor": gained / lost if lost else None,
        "avg_hold_bars": fmean(trade.held for trade in trades),
        "avg_r_after_costs": {f"bp_{bp}": after_costs(trades, bp) for bp in (10, 25)},
    }


def after_costs(trades: Sequence[Trade], bp: int) -> float:
    """The average R after a round trip of so many basis points."""
    return fmean(trade.r - bp / 100 / trade.risk_pct for trade in trades)


def shrunk(trades: Sequence[Trade], prior: float = 0.0) -> float:
    """The expected R: the mean of clipped R, drawn towards a prior with the weight of 60 trades."""
    return (sum(min(max(t.r, -3.0), 10.0) for t in trades) + 60 * prior) / (len(trades) + 60)


def mark_regimes(found: Recomputed) -> None:
    """Give every trade the market's trend and third of volatility on its day of entry."""
    index = market_index(found.walks)
    days, levels = list(index), np.array(list(index.values()))
    moves = np.diff(np.log(levels), prepend=0.0)
    wild = {at: moves[at - 19 : at + 1].std(ddof=1) for at in range(19, len(days))}
    counted = [value for at, value in wild.items() if days[at] >= found.start]
    low, high = np.quantile(counted, [1 / 3, 2 / 3]) if counted else (math.nan, math.nan)
    for trade in found.trades:
        at = int(np.searchsorted(days, (trade.entered - dt.date(1970, 1, 1)).days, "right")) - 1
        if at >= 199:
            mean = levels[at - 199 : at + 1].mean()
            trade.regimes.add("rising" if levels[at] > mean else "falling")
        if at in wild:
            value = wild[at]
            third = "calm" if value <= low else "normal" if value <= high else "turbulent"
            trade.regimes.add(third)


def market_index(walks: Iterable[Walk]) -> dict[int, float]:
    """By day: the index of the covered stocks, each with the same weight."""
    covered = {walk.listing.symbol for walk in walks if walk.covered}
    moves: dict[int, list[float]] = defaultdict(list)
    for walk in walks:
        bars = walk.series.bars
        if walk.listing.symbol in covered and walk.listing.asset_type == "stock":
            for bar in np.flatnonzero(walk.series.following[1:]) + 1:
                moves[int(bars.date[bar])].append(bars.close[bar] / bars.close[bar - 1] - 1)
    level, index = 1.0, {}
    for day in sorted(moves):
        if len(moves[day]) >= MIN_STOCKS:
            level *= 1 + fmean(moves[day])
            index[day] = level
    return index


def adjusted_p(
    lines: Sequence[Sequence[Trade]], times: Sequence[int]
) -> tuple[list[float], list[float]]:
    """The t and the adjusted p of lines of compared trades, tested together.

    In each resample as many of the times are drawn as there are; each line needs two of its own.
    """
    drawn = resampled(len(times))
    found, stars = [], []
    for line in lines:
        mean, error = clustered([t.lift for t in line], [t.half_year for t in line])
        assert error is not None
        found.append(mean / error)
        number, total = np.zeros((2, len(times)))
        for trade in line:
            number[times.index(trade.half_year)] += 1
            total[times.index(trade.half_year)] += trade.lift
        size, clusters = drawn @ number, drawn @ (number > 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            again = drawn @ total / size
            left = total - again[:, None] * number
            spread = (drawn * left**2).sum(axis=1) * clusters / (clusters - 1)
            star = np.abs(again - mean) / (np.sqrt(spread) / size)
        stars.append(np.where(clusters < 2, 0.0, star))
    order = np.argsort([-abs(t) for t in found], kind="stable")
    adjusted = [0.0] * len(lines)
    least = 0.0
    for step, line_number in enumerate(order):
        highest = np.max([stars[other] for other in order[step:]], axis=0)
        beyond = int((highest >= abs(found[line_number])).sum())
        least = max(least, (1 + beyond) / (1 + RESAMPLES))
        adjusted[line_number] = least
    return found, adjusted


def resampled(times: int) -> npt.NDArray[np.int64]:
    """How often each resample draws each time, of shape (`RESAMPLES`, times)."""
    drawn = np.zeros((RESAMPLES, times), np.int64)
    for row in range(RESAMPLES):
        for n in range(1, times + 1):
            drawn[row, split_mix(SEED + row * 2**32 + n * GOLDEN) % times] += 1
    return drawn
