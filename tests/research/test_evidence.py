"""The six filters of research/README.md: what each says of a breakout, and how they are tested."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

from benchmarks.market import sessions, symbol_of
from research.evidence.comparison import RESAMPLES, compare, stepdown
from research.evidence.filters import (
    Breakout,
    Index,
    is_held_out,
    on_the_side_of_the_high,
    returns_of,
    stronger_than_market,
    volume_at_breakout,
    volume_contracted,
    with_gap,
    with_trend,
)
from research.evidence.quality import quality_table, scored
from research.evidence.tables import filter_table
from research.evidence.trades import held_out_trades, verdicts_of
from research.evidence.walks import driftless, table_of
from screener.nightly.analysis import Walked, cleaned_symbols
from screener.nightly.bars import Bars
from screener.nightly.detector.events import Outcome
from screener.nightly.plan import Order, plan
from screener.nightly.reading.table import TableSource
from screener.nightly.results.history import ListingStatus
from tests.conftest import CROWDED
from tests.screener.nightly.series import walk

START, ENTRY, LENGTH = 270, 300, 320
NOW = dt.datetime(2026, 1, 2, 12, tzinfo=dt.UTC)


def breakout(direction: int = 1, **columns: float) -> Breakout:
    """A breakout over flat bars at 100 with a range of 2, where some columns are set at `ENTRY`."""
    bars = Bars(
        np.arange(9000, 9000 + LENGTH, dtype=np.int32),
        *(np.full(LENGTH, price) for price in (100.0, 101.0, 99.0, 100.0, 1000.0)),
    )
    for name, value in columns.items():
        getattr(bars, name)[ENTRY] = value
    return Breakout(bars, START, ENTRY, direction, None)


@pytest.mark.parametrize(("price", "direction"), [(99.0, 1), (101.0, -1)])
def test_a_trade_is_with_the_trend_of_the_half_year_before_the_pattern(
    price: float, direction: int
) -> None:
    seen = breakout(direction)
    seen.bars.close[START - 127] = price

    assert with_trend(seen) is True
    assert with_trend(replace(seen, direction=-direction)) is False
    assert with_trend(replace(seen, start=126)) is None


def test_volume_contracts_if_the_second_half_of_the_pattern_is_below_four_fifths() -> None:
    seen = breakout(volume=9e9)
    assert volume_contracted(seen) is False
    seen.bars.volume[START + 15 : ENTRY] = 790.0
    assert volume_contracted(seen) is True
    seen.bars.volume[START + 15 : ENTRY] = 800.0
    assert volume_contracted(seen) is False
    seen.bars.volume[START] = 0.0
    assert volume_contracted(seen) is None


@pytest.mark.parametrize(("volume", "passes"), [(1500.0, True), (1499.0, False), (0.0, None)])
def test_the_breakout_bar_needs_half_as_much_volume_again(
    volume: float, passes: bool | None
) -> None:
    assert volume_at_breakout(breakout(volume=volume)) is passes


def test_strength_is_that_against_the_market_over_the_same_days() -> None:
    seen = breakout()
    days, flat = seen.bars.date, np.zeros(LENGTH)
    falling = replace(seen, index=Index(days, flat - 0.001 * np.arange(LENGTH)))

    assert stronger_than_market(falling) is True
    assert stronger_than_market(replace(falling, direction=-1)) is False
    assert stronger_than_market(seen) is None
    late = Index(days[200:], flat[200:])
    assert stronger_than_market(replace(seen, index=late)) is None


@pytest.mark.parametrize(
    ("close", "direction", "passes"),
    [(91.0, 1, True), (90.8, 1, False), (91.0, -1, False), (90.8, -1, True)],
)
def test_a_bullish_trade_is_near_the_high_of_the_year_and_a_bearish_one_is_not(
    close: float, direction: int, passes: bool
) -> None:
    seen = breakout(direction, close=close)

    assert on_the_side_of_the_high(seen) is passes
    assert on_the_side_of_the_high(replace(seen, entry=250)) is None


@pytest.mark.parametrize(("opened", "passes"), [(101.02, True), (100.98, False), (98.0, False)])
def test_a_gap_is_half_an_atr_in_the_direction_of_the_trade(opened: float, passes: bool) -> None:
    seen = breakout(open=opened)

    assert with_gap(seen) is passes
    assert with_gap(replace(seen, direction=-1)) is (opened < 100)
    assert with_gap(replace(seen, entry=14)) is None


def test_no_filter_looks_past_the_breakout_bar() -> None:
    bars = walk(700)
    index = Index.of([returns_of(walk(700, seed)) for seed in range(5)])
    seen = [
        Breakout(bars, entry - 25, entry, direction, index)
        for entry in range(300, 650, 10)
        for direction in (1, -1)
    ]
    cut = [
        replace(
            one,
            bars=bars.take(slice(0, one.entry + 1)),
            index=Index(index.days[: one.entry], index.level[: one.entry]),
        )
        for one in seen
    ]

    assert np.array_equal(verdicts_of(seen), verdicts_of(cut))
    assert (verdicts_of(seen) == 1).any(axis=1).all()
    assert (verdicts_of(seen) == 0).any(axis=1).all()


def test_the_index_is_the_mean_return_of_at_least_five_stocks() -> None:
    many = [walk(30, seed) for seed in range(6)]
    alone = walk(60, 9)
    index = Index.of([returns_of(bars) for bars in [*many, alone]])

    assert index.days.tolist() == many[0].date[1:].tolist()
    day, before = -1, -2
    moves = [bars.close[day] / bars.close[before] - 1 for bars in [*many, alone]]
    assert index.level[-1] - index.level[-2] == pytest.approx(math.log1p(sum(moves) / 7))
    first, last = (int(index.days[place]) for place in (4, 9))
    assert index.change(first, last) == pytest.approx(index.level[9] - index.level[4])
    assert index.change(int(alone.date[0]), last) is None


def test_half_of_all_names_are_held_out() -> None:
    names = [f"{first}{second}" for first in "ABCDEFGHIJ" for second in "ABCDEFGHIJ"]

    assert 35 < sum(map(is_held_out, names)) < 65
    assert is_held_out("AAPL") == is_held_out("AAPL")


@pytest.fixture(scope="module")
def order(tmp_path_factory: pytest.TempPathFactory) -> Order:
    """A night by lenient rules over a few driftless walks."""
    file = tmp_path_factory.mktemp("walks") / "walks.parquet"
    days, rng = sessions(12), np.random.default_rng(3)
    names = [symbol_of(number) for number in range(8)]
    pl.concat([table_of(name, driftless(days, rng)) for name in names]).write_parquet(file)
    return Order(TableSource(file), file.name, parameters=CROWDED)


def test_each_resolved_trade_is_in_the_band_of_the_quality_at_its_trigger(order: Order) -> None:
    chosen = plan(order, NOW)
    trades = [part for task in chosen.tasks for part in scored(task)]
    quality = np.concatenate([part.quality for part in trades])
    rows = [line.split("|")[1:3] for line in quality_table(chosen).splitlines()[2:] if line]

    assert (quality >= CROWDED.quality_min - CROWDED.fade_margin).all()
    assert sum(int(number) for _, number in rows) == len(quality) > 0
    for band, number in rows:
        low, high = map(float, band.split(" to "))
        assert int(number) == np.sum((quality >= low) & (quality < high))


def test_the_filters_are_run_on_symbols_held_out_and_on_no_other(order: Order) -> None:
    chosen = plan(order, NOW)
    trades = held_out_trades(chosen)
    facts = [
        Walked.of(series, listing, task, ListingStatus.CURRENT, newest=True).attempts.facts
        for task in chosen.tasks
        for listing, _, cleaned in cleaned_symbols(task)
        for series in cleaned.series
        if is_held_out(listing.symbol)
    ]

    assert 0 < len(facts) < 8
    resolved = np.concatenate(facts)
    resolved = resolved[resolved["outcome"] != Outcome.OPEN]
    assert np.array_equal(trades.facts["entry_day"], resolved["entry_day"])
    drawn = resolved[resolved["draws"] > 0]
    lift = drawn["r"] - drawn["drawn_r"] / drawn["draws"]
    assert trades.lift[resolved["draws"] > 0] == pytest.approx(lift)
    rows = [line.split(" | ") for line in filter_table(trades).splitlines()][2:]
    for (_, passing, _, _, failing, _, _, left_out, *_), verdict in zip(
        rows, trades.verdicts, strict=True
    ):
        counts = [(verdict == side).sum() for side in (1, 0, -1)]
        assert [passing, failing, left_out] == [f"{count:,}" for count in counts]


def noise(seed: int, trades: int = 3000) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    rng = np.random.default_rng(seed)
    months = np.sort(rng.integers(0, 120, trades))
    shared = rng.normal(0, 0.3, 120)[months]
    return rng.normal(0, 1, trades) + shared, months, rng


def test_the_difference_and_its_error_are_those_of_two_means_with_months_as_clusters() -> None:
    lift, months, rng = noise(1)
    verdict = rng.integers(-1, 2, len(lift)).astype(np.int8)

    (found,) = compare(lift, [verdict], months)

    groups = [lift[verdict == side] for side in (1, 0)]
    means = [group.mean() for group in groups]
    assert found.difference == pytest.approx(means[0] - means[1])
    pushes = np.zeros(120)
    for value, month, side in zip(lift, months, verdict, strict=True):
        if side >= 0:
            mine = 1 - side
            pushes[month] += (-1) ** mine * (value - means[mine]) / len(groups[mine])
    assert found.error == pytest.approx(math.sqrt((pushes**2).sum() * 120 / 119))


def test_a_filter_that_works_is_found_and_noise_is_not() -> None:
    lift, months, rng = noise(2)
    verdicts = [rng.integers(0, 2, len(lift)).astype(np.int8) for _ in range(6)]
    lift = lift + 0.4 * verdicts[3]

    found = compare(lift, verdicts, months)

    ps = [test.adjusted_p for test in found]
    assert ps[3] == pytest.approx(1 / (1 + RESAMPLES))
    assert all(p is not None and p > 0.05 for number, p in enumerate(ps) if number != 3)


def test_a_filter_that_hardly_any_trade_passes_is_not_tested() -> None:
    lift, months, _ = noise(4)
    rare = np.zeros(len(lift), np.int8)
    rare[:29] = 1

    assert compare(lift, [rare], months)[0].adjusted_p is None
    rare[29] = 1
    rare[1000:1100] = 1
    assert compare(lift, [rare], months)[0].adjusted_p is not None


def test_an_adjusted_p_is_never_below_that_of_a_larger_statistic() -> None:
    rng = np.random.default_rng(8)
    stars = [np.abs(rng.normal(size=500)) for _ in range(5)]
    values = [2.9, 0.1, 2.2, 1.0, 2.3]

    adjusted = stepdown(values, stars)

    order = np.argsort(values)[::-1]
    assert all(adjusted[a] <= adjusted[b] for a, b in pairwise(order))
    everything = np.max(stars, axis=0)
    assert adjusted[0] == (1 + (everything >= 2.9).sum()) / 501
    assert adjusted[1] == max(adjusted[3], (1 + (stars[1] >= 0.1).sum()) / 501)
