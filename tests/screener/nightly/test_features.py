"""The screening features: their formulas, how much history each needs, and their table."""

from __future__ import annotations

import datetime as dt
import math
import statistics
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from screener.nightly.bars import Bars, to_day
from screener.nightly.results.features import COLUMNS, features
from tests.screener.nightly.series import daily, evidence, walk

LABELS = ("1w", "2w", "3w", *(f"{count}m" for count in range(1, 13)))

# The number of bars from which each column has a value; the rest depend on the calendar.
NEEDED = {
    **dict.fromkeys(("price", "current_volume", "current_dollar_volume", "change_from_open"), 1),
    **dict.fromkeys(("daily_change", "gap"), 2),
    "performance_5": 6,
    "ema_distance_8": 8,
    **dict.fromkeys(("rsi", "adr", "atr"), 15),
    **dict.fromkeys(("avg_volume", "dollar_volume", "volume_ratio"), 20),
    **dict.fromkeys(("sma_distance_20", "price_above_sma_20"), 20),
    **dict.fromkeys(("distance_from_high_20", "distance_from_low_20"), 20),
    **dict.fromkeys(("volatility", "ema_distance_21", "ema_cross"), 21),
    "performance_21": 22,
    "dollar_volume_30d": 30,
    **dict.fromkeys(("sma_distance_50", "price_above_sma_50"), 50),
    **dict.fromkeys(("distance_from_high_50", "distance_from_low_50"), 50),
    "ema_distance_60": 60,
    "volume_percentile": 63,
    "performance_63": 64,
    "performance_126": 127,
    **dict.fromkeys(("sma_distance_200", "price_above_sma_200", "sma_cross"), 200),
    **dict.fromkeys(("distance_from_high_252", "distance_from_low_252"), 252),
    "performance_252": 253,
}


def recursion(values: list[float], seed: float, alpha: float) -> float:
    for value in values:
        seed += alpha * (value - seed)
    return seed


def test_the_table_has_every_column_of_which_the_history_is_tested() -> None:
    sides = ("distance_from_high", "distance_from_low")
    of_calendar = {f"{side}_{label}" for side in sides for label in LABELS} | {"performance_ytd"}

    assert {*COLUMNS} == {*NEEDED} | of_calendar
    assert len(features(walk(30), crypto=False)) == len(COLUMNS) == 68


def test_averages_and_volumes_follow_their_plain_definitions() -> None:
    bars = walk(300)
    close, volume = bars.close.tolist(), bars.volume.tolist()
    found = evidence(bars)
    for span in (20, 50, 200):
        mean = statistics.fmean(close[-span:])
        assert found[f"sma_distance_{span}"] == pytest.approx(100 * (close[-1] / mean - 1))
        assert found[f"price_above_sma_{span}"] == float(close[-1] > mean)
    assert found["sma_cross"] == float(
        statistics.fmean(close[-50:]) > statistics.fmean(close[-200:])
    )
    assert found["avg_volume"] == pytest.approx(statistics.fmean(volume[-20:]))
    assert found["volume_ratio"] == pytest.approx(volume[-1] / statistics.fmean(volume[-20:]))
    assert found["dollar_volume_30d"] == pytest.approx(close[-1] * statistics.fmean(volume[-30:]))
    turnover = [price * units for price, units in zip(close[-20:], volume[-20:], strict=True)]
    assert found["dollar_volume"] == pytest.approx(statistics.fmean(turnover))
    assert (found["price"], found["current_volume"]) == (close[-1], volume[-1])
    assert found["current_dollar_volume"] == pytest.approx(close[-1] * volume[-1])
    for span in (5, 21, 63, 126, 252):
        gain = close[-1] / close[-1 - span] - 1
        assert found[f"performance_{span}"] == pytest.approx(100 * gain)
    for span in (20, 50, 252):
        low, high = bars.low[-span:].min(), bars.high[-span:].max()
        assert found[f"distance_from_low_{span}"] == pytest.approx(100 * (close[-1] / low - 1))
        assert found[f"distance_from_high_{span}"] == pytest.approx(100 * (1 - close[-1] / high))


@pytest.mark.parametrize(("drift", "flag"), [(1.01, 1.0), (0.99, 0.0)])
def test_a_rising_series_is_above_its_averages_and_a_falling_one_is_not(
    drift: float, flag: float
) -> None:
    found = evidence(daily(260, dt.date(2024, 1, 5), close=100 * drift ** np.arange(260.0)))
    flags = ("price_above_sma_20", "price_above_sma_50", "price_above_sma_200", "sma_cross")
    assert [found[name] for name in flags] == [flag] * 4
    assert (found["ema_cross"] > 0) == bool(flag)


@pytest.mark.parametrize("price", [0.1, 0.7, 1.1, 3.3, 1e-9])
def test_a_flat_series_has_no_distance_and_no_cross_left_over_by_rounding(price: float) -> None:
    flat = np.full(400, price)
    found = evidence(daily(400, dt.date(2024, 1, 5), open=flat, high=flat, low=flat, close=flat))
    still = [name for name in COLUMNS if "volume" not in name and name not in ("price", "rsi")]
    assert {name: found[name] for name in still} == dict.fromkeys(still, 0.0)
    assert found["rsi"] == 50.0


@pytest.mark.parametrize(("length", "first"), [(80, 1e4), (1200, 1e30)])
def test_ema_and_rsi_are_recursions_from_the_first_bar(length: int, first: float) -> None:
    bars = walk(length)
    close = bars.close.tolist()
    close[0] = first  # so large that even its small weight shows
    found = evidence(Bars(bars.date, bars.open, bars.high, bars.low, np.array(close), bars.volume))
    ema = {span: recursion(close[1:], close[0], 2 / (span + 1)) for span in (8, 21, 60)}
    for span in (8, 21, 60):
        assert found[f"ema_distance_{span}"] == pytest.approx(100 * (close[-1] / ema[span] - 1))
    assert found["ema_cross"] == pytest.approx(100 * (ema[8] / ema[21] - 1))
    changes = [after - before for before, after in pairwise(close)]
    gains, losses = [max(change, 0) for change in changes], [max(-change, 0) for change in changes]
    gain, loss = (
        recursion(side[14:], statistics.fmean(side[:14]), 1 / 14) for side in (gains, losses)
    )
    assert found["rsi"] == pytest.approx(100 * gain / (gain + loss))


def test_volatility_is_annualised_by_252_sessions_and_for_crypto_by_365() -> None:
    bars = walk(40)
    close = bars.close.tolist()[-21:]
    returns = [math.log(b / a) for a, b in pairwise(close)]
    deviation = 100 * statistics.stdev(returns)
    stock, crypto = evidence(bars), evidence(bars, crypto=True)
    assert stock.pop("volatility") == pytest.approx(deviation * math.sqrt(252))
    assert crypto.pop("volatility") == pytest.approx(deviation * math.sqrt(365))
    assert stock == pytest.approx(crypto, nan_ok=True, rel=0)


def test_ranges_are_means_over_fourteen_sessions() -> None:
    bars = walk(40)
    ranges, trues = [], []
    for k in range(len(bars) - 14, len(bars)):
        ranges.append(bars.high[k] / bars.low[k] - 1)
        high, low = bars.high[k], bars.low[k]
        before = bars.close[k - 1]
        trues.append(max(high - low, abs(high - before), abs(low - before)))
    found = evidence(bars)
    assert found["adr"] == pytest.approx(100 * float(np.mean(ranges)))
    assert found["atr"] == pytest.approx(100 * float(np.mean(trues)) / bars.close[-1])


@pytest.mark.parametrize(
    ("last", "below", "ties", "rank"),
    [(100.0, 0, 62, 50.0), (500.0, 62, 0, 100.0), (1.0, 0, 0, 0.0), (300.0, 31, 11, 58.870967742)],
)
def test_the_volume_percentile_ranks_among_63_sessions_with_ties_half(
    last: float, below: int, ties: int, rank: float
) -> None:
    above = 62 - below - ties
    volume = np.array([last / 2] * below + [last] * ties + [last * 2] * above + [last])
    found = evidence(daily(63, dt.date(2024, 1, 5), volume=volume))
    assert found["volume_percentile"] == pytest.approx(rank)


def test_a_symbol_without_volume_lacks_only_its_volume_ratio() -> None:
    found = evidence(daily(400, dt.date(2024, 1, 5), volume=np.zeros(400)))
    assert [name for name, value in found.items() if math.isnan(value)] == ["volume_ratio"]
    assert found["avg_volume"] == found["current_dollar_volume"] == 0.0


def test_the_days_moves_compare_with_the_open_and_the_previous_close() -> None:
    ends = {"close": np.array([80.0, 100.0, 120.0]), "open": np.array([80.0, 90.0, 110.0])}
    found = evidence(daily(3, dt.date(2024, 1, 5), **ends))
    assert found["daily_change"] == pytest.approx(20)
    assert found["gap"] == pytest.approx(10)
    assert found["change_from_open"] == pytest.approx(100 * (120 / 110 - 1))


@pytest.mark.parametrize(
    ("last", "period", "cut"),
    [
        ("2024-03-28", "1w", "2024-03-21"),
        ("2024-03-28", "2w", "2024-03-14"),
        ("2024-03-28", "3w", "2024-03-07"),
        ("2024-03-28", "1m", "2024-02-28"),
        ("2024-03-31", "1m", "2024-02-29"),
        ("2023-03-31", "1m", "2023-02-28"),
        ("2023-03-29", "1m", "2023-02-28"),
        ("2024-01-31", "2m", "2023-11-30"),
        ("2024-05-31", "3m", "2024-02-29"),
        ("2024-12-31", "6m", "2024-06-30"),
        ("2024-01-15", "1m", "2023-12-15"),
        ("2024-11-30", "11m", "2023-12-30"),
        ("2024-02-29", "12m", "2023-02-28"),
        ("2025-02-28", "12m", "2024-02-28"),
        ("2024-12-31", "12m", "2023-12-31"),
    ],
)
def test_a_week_or_month_window_begins_on_the_day_after_its_cut(
    last: str, period: str, cut: str
) -> None:
    # Highs fall and lows rise day by day, so the first bar of a window holds both its extremes.
    length = 500
    high, low = 2000.0 - np.arange(float(length)), 1.0 + np.arange(float(length)) / 10
    bars = daily(length, dt.date.fromisoformat(last), high=high, low=low)
    first = int(np.searchsorted(bars.date, to_day(dt.date.fromisoformat(cut)))) + 1
    found = evidence(bars)
    expected = 100 * (1 - 100 / high[first]), 100 * (100 / low[first] - 1)
    assert found[f"distance_from_high_{period}"] == pytest.approx(expected[0], rel=1e-12)
    assert found[f"distance_from_low_{period}"] == pytest.approx(expected[1], rel=1e-12)


@pytest.mark.parametrize("period", LABELS)
def test_a_week_or_month_window_needs_a_bar_on_or_before_its_cut(period: str) -> None:
    last = dt.date(2024, 3, 20)
    count = int(period[:-1])
    months = 12 * last.year + last.month - 1 - count
    cut = (
        to_day(last) - 7 * count
        if period.endswith("w")
        else to_day(dt.date(months // 12, months % 12 + 1, last.day))
    )
    bars = daily(400, last)
    names = f"distance_from_high_{period}", f"distance_from_low_{period}"
    reaching = evidence(bars.take(bars.date >= cut))
    young = evidence(bars.take(bars.date > cut))
    assert [reaching[name] for name in names] == [0.0, 0.0]
    assert all(math.isnan(young[name]) for name in names)


def test_a_bar_window_counts_bars_and_includes_the_last() -> None:
    high, low = np.full(300, 100.0), np.full(300, 100.0)
    high[[-21, -20, -51, -50]] = 900, 200, 800, 400
    low[[-253, -252]] = 20, 50
    found = evidence(daily(300, dt.date(2024, 1, 5), high=high, low=low))
    distances = [found[f"distance_from_high_{span}"] for span in (20, 50)]
    assert distances == pytest.approx([50, 100 * (1 - 1 / 9)])
    assert found["distance_from_low_252"] == pytest.approx(100)
    high[-1] = 1000
    assert evidence(daily(300, dt.date(2024, 1, 5), high=high))[
        "distance_from_high_20"
    ] == pytest.approx(90)


def test_a_new_high_is_at_no_distance_and_never_at_minus_zero() -> None:
    rising = np.arange(1.0, 401.0)
    found = evidence(daily(400, dt.date(2024, 1, 5), high=rising, close=rising, low=rising))
    assert math.copysign(1, found["distance_from_high_12m"]) == 1.0


@pytest.mark.parametrize("last", ["2024-01-01", "2024-01-02", "2024-12-31"])
def test_performance_ytd_is_against_the_last_close_of_the_previous_year(last: str) -> None:
    bars = daily(400, dt.date.fromisoformat(last))
    bars = bars.take(bars.date != to_day(dt.date(2023, 12, 31)))  # no session that day
    bars.close[bars.date == to_day(dt.date(2023, 12, 30))] = 80.0
    bars.close[-1] = 120.0
    assert evidence(bars)["performance_ytd"] == pytest.approx(50)


def test_performance_ytd_needs_a_bar_of_the_previous_year() -> None:
    bars = daily(30, dt.date(2024, 1, 29))
    assert evidence(bars)["performance_ytd"] == 0.0
    assert math.isnan(evidence(bars.take(slice(1, None)))["performance_ytd"])


@pytest.mark.parametrize("needed", sorted({*NEEDED.values()}))
def test_a_column_has_its_first_value_on_the_bar_that_completes_its_history(needed: int) -> None:
    for length in range(max(1, needed - 1), needed + 1):
        found = evidence(walk(length))
        present = {name for name in NEEDED if not math.isnan(found[name])}
        assert present == {name for name in NEEDED if NEEDED[name] <= length}


prices = st.floats(1e-300, 1e300)
volumes = st.floats(0, 1e300)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(prices, prices, prices, prices, volumes), min_size=1, max_size=70),
    st.booleans(),
)
def test_any_short_history_gives_finite_evidence_or_none(
    rows: list[tuple[float, ...]], crypto: bool
) -> None:
    table = np.array(rows, dtype=np.float64).reshape(len(rows), 5)
    high, low = table[:, :4].max(axis=1), table[:, :4].min(axis=1)
    date = np.arange(len(rows), dtype=np.int32) + 19_000
    row = features(Bars(date, table[:, 0], high, low, table[:, 1], table[:, 4]), crypto=crypto)
    assert row.shape == (len(COLUMNS),)
    assert row.dtype == np.float64
    assert not np.isinf(row).any()
