"""Prices: returns with fat tails and several volatilities, candles around closes, random walks.

Prices are logarithms here until `to_bars`; a volatility is the standard deviation of a day's log
return.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from screener.nightly.bars import Bars, Floats

Rng = np.random.Generator

VOLATILITY = (0.008, 0.04)  # of a calm large company to a small or a crypto asset, per day
RANGE_OF_VOLATILITY = 1.5  # mean true range of a simulated day, in volatilities
INTRADAY = 0.9  # volatility within a day over the close's: real days give back part of their moves
OVERNIGHT = 0.4  # volatility of the opening gap, as a share of the day's: 16% of its variance
TAIL = 5.0  # degrees of freedom of returns: daily stock returns have about this many
ARCH, MEMORY = 0.08, 0.90  # of a GARCH(1, 1) process, as fitted to daily stock returns
FIRST_DAY = 10_000


@dataclass(frozen=True, slots=True, eq=False)
class Candles:
    """The log prices of consecutive days; the arrays may be changed in place."""

    open: Floats
    high: Floats
    low: Floats
    close: Floats

    def true_range(self) -> Floats:
        """The log true range of each day; the first day's is its range."""
        before = np.concatenate([self.open[:1], self.close[:-1]])
        return np.asarray(np.maximum(self.high, before) - np.minimum(self.low, before))


def shocks(rng: Rng, days: int) -> Floats:
    """Fat-tailed random numbers of mean 0 and variance 1."""
    return np.asarray(rng.standard_t(TAIL, days) * np.sqrt((TAIL - 2) / TAIL))


def daily_volatility(rng: Rng) -> float:
    """A symbol's volatility a day, even on a logarithmic scale over what symbols have."""
    low, high = np.log(VOLATILITY)
    return float(np.exp(rng.uniform(low, high)))


def garch(rng: Rng, days: int, volatility: float) -> tuple[Floats, Floats]:
    """Returns of a GARCH(1, 1) process with fat tails, and the volatility of each day."""
    noise = shocks(rng, days)
    variance = np.empty(days)
    now = 1.0
    for day in range(days):
        variance[day] = now
        now = 1 - ARCH - MEMORY + now * (MEMORY + ARCH * noise[day] ** 2)
    each = volatility * np.sqrt(variance)
    return each * noise, each


def trends(rng: Rng, days: int, volatility: float) -> Floats:
    """A drift for each day that changes every 20-70 days, up to a strong trend either way."""
    drift = np.empty(days)
    day = 0
    while day < days:
        until = day + int(rng.integers(20, 71))
        drift[day:until] = rng.normal(0, 0.12) * volatility
        day = until
    return drift


def bridge(rng: Rng, volatility: Floats, total: float) -> Floats:
    """Running sums of fat-tailed steps that are conditioned to end at `total`."""
    steps = volatility * shocks(rng, len(volatility))
    weight = volatility**2 / np.sum(volatility**2)
    return np.asarray(np.cumsum(steps + weight * (total - steps.sum())))


def draw_candles(
    rng: Rng, close: Floats, volatility: Floats, top: Floats, bottom: Floats
) -> Candles:
    """Opens near the close before, kept within [bottom, top], and highs and lows around both.

    The high and the low are drawn as those of a Brownian path from the open to the close.
    """
    gap = OVERNIGHT * volatility * shocks(rng, len(close))
    before = np.concatenate([close[:1], close[:-1]])
    opening = np.clip(before + gap, bottom, top)
    intraday = INTRADAY * volatility
    reach = rng.exponential(2.0, (2, len(close))) * intraday**2
    up, down = (np.sqrt((close - opening) ** 2 + reach) - np.abs(close - opening)) / 2
    high = np.maximum(opening, close) + up
    low = np.minimum(opening, close) - down
    return Candles(opening, high, low, close.copy())


def to_bars(rng: Rng, candles: Candles, busy: Floats) -> Bars:
    """The candles at a random price level, with volumes that follow `busy` and the day's range."""
    level = rng.uniform(np.log(5), np.log(300)) - float(candles.close[0])
    wide = candles.true_range()
    volume = np.exp(rng.uniform(np.log(1e5), np.log(2e7)) + rng.normal(0, 0.3, len(wide)))
    return Bars(
        np.arange(len(wide), dtype=np.int32) + FIRST_DAY,
        np.exp(candles.open + level),
        np.exp(candles.high + level),
        np.exp(candles.low + level),
        np.exp(candles.close + level),
        volume * busy * (0.5 + 0.5 * wide / wide.mean()),
    )


DRIFT = 0.03  # sd of a walk's daily drift, in volatilities: at most a few tens of percent a year
REGIMES = (0.6, 1.7)  # volatility of calm and of wild times, as shares of the symbol's
SWITCH = 1 / 40  # chance a day that the regime changes: two months on average
PERSISTENCE, SURPRISE = 0.97, 0.12  # of the logarithm of a stochastic volatility, day to day

Returns = tuple[Floats, Floats]


def _constant(rng: Rng, days: int, volatility: float) -> Returns:
    """Normal returns of one volatility."""
    each = np.full(days, volatility)
    return each * rng.standard_normal(days), each


def _student(rng: Rng, days: int, volatility: float) -> Returns:
    """Fat-tailed returns of one volatility."""
    each = np.full(days, volatility)
    return each * shocks(rng, days), each


def _regimes(rng: Rng, days: int, volatility: float) -> Returns:
    """Normal returns that change between a calm and a wild volatility."""
    wild = (np.cumsum(rng.random(days) < SWITCH) + rng.integers(2)) % 2
    each = volatility * np.array(REGIMES)[wild]
    return each * rng.standard_normal(days), each


def _stochastic(rng: Rng, days: int, volatility: float) -> Returns:
    """Normal returns of a volatility whose logarithm reverts to its mean; falls raise it."""
    noise, surprise = rng.standard_normal((2, days))
    log_volatility = np.empty(days)
    now = 0.0
    for day in range(days):
        log_volatility[day] = now
        now = PERSISTENCE * now + SURPRISE * (0.8 * surprise[day] - 0.6 * noise[day])
    each = volatility * np.exp(log_volatility)
    return each * noise, each


MODELS: dict[str, Callable[[Rng, int, float], Returns]] = {
    "constant": _constant,
    "student": _student,
    "garch": garch,
    "regimes": _regimes,
    "stochastic": _stochastic,
}


def walk(rng: Rng, model: str, days: int) -> Bars:
    """A random walk of so many daily bars, with opening gaps and a small drift.

    Args:
        rng: the only source of chance.
        model: one of `MODELS`, how volatility behaves.
        days: the number of bars.
    """
    volatility = daily_volatility(rng)
    returns, each = MODELS[model](rng, days, volatility)
    close = np.cumsum(returns + rng.normal(0, DRIFT) * volatility)
    free = np.full(days, np.inf)
    return to_bars(rng, draw_candles(rng, close, each, free, -free), each / volatility)
