"""Random walks: series with no pattern but what chance draws, under several volatilities."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.planted.carved.market import (
    Rng,
    daily_volatility,
    draw_candles,
    garch,
    shocks,
    to_bars,
)
from nightly.bars import Bars, Floats

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
