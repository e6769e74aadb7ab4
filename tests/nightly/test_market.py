"""The market of a night: the mean return of its stocks, its trend and its thirds of volatility."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nightly.bars import Bars
from nightly.market import (
    CALM,
    FALLING,
    LEAST_STOCKS,
    NORMAL,
    RISING,
    TREND_DAYS,
    TURBULENT,
    UNIT,
    UNKNOWN,
    VOLATILITY_DAYS,
    Market,
    Returns,
)
from nightly.series import Series

FIRST = 15_000


def stock(changes: list[float], first: int = FIRST) -> Series:
    """A series whose closes change by so much from day to day."""
    close = 50 * np.cumprod(1 + np.array([0.0, *changes]))
    days = np.arange(first, first + len(close), dtype=np.int32)
    return Series.sound(Bars(days, close, close, close, close, close))


def market(changes: list[float], since: int = FIRST) -> Market:
    """A market of just enough stocks that all do the same."""
    one = Returns.of([stock(changes)])
    return Market.of(Returns.total([one] * LEAST_STOCKS), since)


def test_the_returns_of_stocks_add_up_in_any_order_to_the_last_bit() -> None:
    rng = np.random.default_rng(4)
    parts = [Returns.of([stock(list(rng.normal(0, 0.02, 50)), FIRST + n)]) for n in range(12)]
    whole, back = Returns.total(parts), Returns.total(parts[::-1])
    pieces = Returns.total([Returns.total(parts[:5]), Returns.none(), Returns.total(parts[5:])])
    for other in (back, pieces):
        assert whole.first == other.first
        assert np.array_equal(whole.sums, other.sums)
        assert np.array_equal(whole.stocks, other.stocks)
    assert whole.stocks.max() == 12


def test_a_return_needs_the_session_before() -> None:
    series = stock([0.1, 0.2, 0.3])
    series = replace(series, following=np.array([False, True, False, True]))
    found = Returns.of([series])
    assert found.first == FIRST + 1
    assert (UNIT * found.sums).tolist() == pytest.approx([0.1, 0.0, 0.3])
    assert found.stocks.tolist() == [1, 0, 1]


def test_a_day_of_few_stocks_is_no_day_of_the_market() -> None:
    one = Returns.of([stock([0.01] * 5)])
    assert len(Market.of(Returns.total([one] * (LEAST_STOCKS - 1)), FIRST).days) == 0
    assert len(Market.of(Returns.total([one] * LEAST_STOCKS), FIRST).days) == 5


def test_a_market_rises_above_the_mean_of_its_last_200_days() -> None:
    up, down = market([0.01] * 300), market([-0.01] * 300)
    for found, code in ((up, RISING), (down, FALLING)):
        assert set(found.trend[: TREND_DAYS - 1]) == {UNKNOWN}
        assert set(found.trend[TREND_DAYS - 1 :]) == {code}


def test_a_turn_is_seen_on_the_day_on_which_the_index_crosses_its_mean() -> None:
    changes = [0.001] * 250 + [-0.05] * 10
    found, index = market(changes), np.cumprod(1 + np.array(changes))
    for day in range(TREND_DAYS - 1, len(index)):
        above = index[day] > index[day - TREND_DAYS + 1 : day + 1].mean()
        assert found.trend[day] == (RISING if above else FALLING)


def test_volatility_comes_in_thirds_of_the_days_that_count() -> None:
    rng = np.random.default_rng(8)
    changes = list(np.concatenate([rng.normal(0, size, 200) for size in (0.002, 0.01, 0.05)]))
    found = market(changes)
    known = found.volatility[VOLATILITY_DAYS - 1 :]
    assert [round(float((known == code).mean()), 2) for code in (CALM, NORMAL, TURBULENT)] == [
        pytest.approx(1 / 3, abs=0.02)
    ] * 3
    assert set(found.volatility[50:180]) == {CALM}
    assert (found.volatility[-150:] == TURBULENT).mean() > 0.9
    later = market(changes, since=FIRST + 420)
    assert {CALM, NORMAL, TURBULENT} == set(later.volatility[-150:])


def test_a_day_between_market_days_has_the_codes_of_the_one_before() -> None:
    found = market([0.01] * 300)
    days = np.array([FIRST, found.days[0], found.days[-1], found.days[-1] + 5], np.int32)
    assert found.at(days, found.trend).tolist() == [UNKNOWN, UNKNOWN, RISING, RISING]
    empty = Market.of(Returns.none(), FIRST)
    assert empty.at(days, empty.trend).tolist() == [UNKNOWN] * 4
