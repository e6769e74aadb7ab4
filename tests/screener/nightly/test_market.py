"""The market of a night: the same sums whatever the order, `test_recomputed` does the rest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from screener.nightly.bars import Bars
from screener.nightly.results.returns import UNIT, Returns
from screener.nightly.series import Series
from screener.nightly.statistics.market import MIN_STOCKS, MarketDays

FIRST = 15_000


def stock(changes: list[float], first: int = FIRST) -> Series:
    """A series whose closes change by so much from day to day."""
    close = 50 * np.cumprod(1 + np.array([0.0, *changes]))
    days = np.arange(first, first + len(close), dtype=np.int32)
    return Series.sound(Bars(days, close, close, close, close, close))


def test_the_returns_of_stocks_add_up_in_any_order_to_the_last_bit() -> None:
    rng = np.random.default_rng(4)
    parts = [Returns.of([stock(list(rng.normal(0, 0.02, 50)), FIRST + n)]) for n in range(12)]
    whole, back = Returns.total(parts), Returns.total(parts[::-1])
    pieces = Returns.total(
        [Returns.total(parts[:5]), Returns.of([stock([])]), Returns.total(parts[5:])]
    )
    for other in (back, pieces):
        assert whole.first == other.first
        assert np.array_equal(whole.sums, other.sums)
        assert np.array_equal(whole.stocks, other.stocks)
    assert whole.stocks.max() == 12


def test_a_day_of_few_stocks_is_no_day_of_the_market() -> None:
    one = Returns.of([stock([0.01] * 5)])
    assert len(MarketDays.of(Returns.total([one] * (MIN_STOCKS - 1)), FIRST).days) == 0
    assert len(MarketDays.of(Returns.total([one] * MIN_STOCKS), FIRST).days) == 5


def test_a_return_needs_the_session_before() -> None:
    series = replace(stock([0.1, 0.2, 0.3]), following=np.array([False, True, False, True]))
    found = Returns.of([series])
    assert (UNIT * found.sums).tolist() == pytest.approx([0.1, 0.0, 0.3])
    assert (found.first, found.stocks.tolist()) == (FIRST + 1, [1, 0, 1])


def test_thirds_of_volatility_are_those_of_the_days_that_count() -> None:
    rng = np.random.default_rng(8)
    changes = np.concatenate([rng.normal(0, size, 200) for size in (0.002, 0.01, 0.05)])
    everyone = Returns.total([Returns.of([stock(changes.tolist())])] * MIN_STOCKS)
    whole, later = (MarketDays.of(everyone, since).did for since in (FIRST, FIRST + 420))
    assert whole["turbulent"][-100:].all()
    for did in (whole, later):
        thirds = np.array([did[third][-100:] for third in ("calm", "normal", "turbulent")])
        assert (thirds.sum(axis=0) == 1).all(), "each day is in one of them"
    assert thirds.any(axis=1).all()
