"""Walks: series without any shape, under several models of volatility."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.planted.series import Rng
from nightly.bars import Bars, Floats

PARTS = 8
"""Steps within a day; the high and the low are their extremes."""


def steady(rng: Rng, days: int) -> Floats:
    """Normal moves of one size."""
    return rng.normal(0, 1, (days, PARTS))


def fat_tailed(rng: Rng, days: int) -> Floats:
    """Student's t with four degrees of freedom; one size is drawn for all steps of a day."""
    size = np.sqrt(2 / rng.chisquare(4, days))
    return rng.normal(0, 1, (days, PARTS)) * size[:, None]


def garch(rng: Rng, days: int) -> Floats:
    """GARCH(1,1) with normal shocks: 0.08 on the last square, 0.90 on the last variance."""
    shocks = rng.normal(0, 1, (days, PARTS))
    variance = 1.0
    for day in range(days):
        shocks[day] *= np.sqrt(variance)
        variance = 0.02 + 0.08 * float(shocks[day].sum()) ** 2 / PARTS + 0.90 * variance
    return shocks


def stochastic(rng: Rng, days: int) -> Floats:
    """A log volatility that reverts to its mean over about fifty days."""
    level = np.empty(days)
    level[0] = 0.0
    news = rng.normal(0, 0.08, days)
    for day in range(1, days):
        level[day] = 0.98 * level[day - 1] + news[day]
    return rng.normal(0, 1, (days, PARTS)) * np.exp(level)[:, None]


def regimes(rng: Rng, days: int) -> Floats:
    """Calm and stormy periods in turn, sixty days each on average, each with its own drift."""
    stormy = np.cumsum(rng.random(days) < 1 / 60) % 2
    size = np.where(stormy == 1, 2.0, 0.8)
    drift = np.where(stormy == 1, -0.02, 0.01)
    return (rng.normal(0, 1, (days, PARTS)) + drift[:, None]) * size[:, None]


MODELS: dict[str, Callable[[Rng, int], Floats]] = {
    "steady": steady,
    "fat-tailed": fat_tailed,
    "GARCH": garch,
    "stochastic": stochastic,
    "regimes": regimes,
}


def walk(rng: Rng, model: str, days: int) -> Bars:
    """A random walk of 1.2 to 3% a day with a small drift and gaps overnight."""
    scale = float(np.exp(rng.uniform(np.log(0.012), np.log(0.03))))
    moves = MODELS[model](rng, days) * scale / np.sqrt(PARTS) + rng.normal(0, 0.0003) / PARTS
    path = 4.0 + np.cumsum(moves).reshape(days, PARTS)
    # The first step of a day happens before the market opens.
    prices = path[:, 0], path.max(axis=1), path.min(axis=1), path[:, -1]
    date = np.arange(days, dtype=np.int32) + 10_000
    columns = [*(np.exp(part) for part in prices), np.ones(days)]
    return Bars(date, *columns)
