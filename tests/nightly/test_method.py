"""The method's numbers, recomputed in plain Python from the rows of the sealed book."""

from __future__ import annotations

import datetime as dt
import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightly.bars import to_day
from nightly.events import Rows
from nightly.groups import Trades
from nightly.history import FACTS, Fate
from nightly.intervals import clustered, wilson
from nightly.market import Market, Returns
from nightly.method import method, shown
from store.book import Book
from store.families import Family
from store.method import Measure, Method
from store.nights import Nights
from store.records import HistoryRow
from tests.conftest import NIGHT_SESSION

SYMBOLS = ("AAPL", "FB", "GOOG", "IBM", "MSFT")


@pytest.fixture(scope="module")
def book(night: Path) -> Iterator[Book]:
    nights = Nights(night)
    manifest = nights.active()
    assert manifest is not None
    opened = Book.open(nights.folder / manifest.book.file, manifest)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def record(book: Book) -> Method:
    found = book.method()
    assert found is not None
    return found


class Trade:
    """One history row and what follows from its prices."""

    def __init__(self, row: HistoryRow) -> None:
        prices = (row.entry_price, row.stop_price, row.exit_price)
        entry, stop, left = (price for price in prices if price is not None)
        assert row.entry_date is not None
        self.row = row
        self.sign = 1 if row.direction == "bullish" else -1
        self.r = self.sign * (left - entry) / abs(entry - stop)
        self.move = 100 * self.sign * (left / entry - 1)
        self.risk_pct = 100 * abs(entry - stop) / entry
        self.half_year = (row.entry_date.year, row.entry_date.month > 6)
        self.decade = row.entry_date.year // 10 * 10


@pytest.fixture(scope="module")
def trades(book: Book) -> list[Trade]:
    found = []
    for symbol in SYMBOLS:
        stored = book.history(symbol)
        assert stored is not None
        rows = [HistoryRow.model_validate_json(body) for body in stored.rows]
        found += [Trade(row) for row in rows if row.outcome != "open"]
    return found


def members(measure: Measure, trades: list[Trade]) -> list[Trade]:
    return [
        trade
        for trade in trades
        if measure.family in (None, trade.row.family)
        and measure.direction in (None, trade.row.direction)
        and measure.decade in (None, trade.decade)
    ]


def clustered_error(
    group: list[Trade], total: Callable[[Trade], float], weight: Callable[[Trade], float]
) -> float | None:
    """The error of a ratio of sums with half years as clusters, summed by hand."""
    weights = sum(map(weight, group))
    mean = sum(map(total, group)) / weights
    clusters: dict[tuple[int, bool], float] = defaultdict(float)
    for trade in group:
        clusters[trade.half_year] += total(trade) - mean * weight(trade)
    number = len(clusters)
    if number < 2:
        return None
    return math.sqrt(sum(c * c for c in clusters.values()) * number / (number - 1)) / weights


def test_every_group_is_recomputed_from_the_history_rows(
    record: Method, trades: list[Trade]
) -> None:
    groups = [measure for measure in record.measures if measure.regime is None]
    assert len(groups) == 19
    for measure in groups:
        group = members(measure, trades)
        wins = [trade for trade in group if trade.row.outcome == "win"]
        losses = [trade for trade in group if trade.row.outcome == "loss"]
        assert (measure.trades, measure.wins, measure.losses) == (
            len(group),
            len(wins),
            len(losses),
        )
        assert measure.win_rate_pct == pytest.approx(100 * len(wins) / len(group), abs=0.006)
        assert measure.avg_r.mean == pytest.approx(statistics.fmean(t.r for t in group), abs=6e-4)
        error = clustered_error(group, lambda t: t.r, lambda _: 1.0)
        few = measure.verdict == "too_few"
        assert measure.avg_r.error == (None if few else pytest.approx(error, abs=6e-4))
        assert measure.clusters == len({trade.half_year for trade in group})
        for average, side in ((measure.avg_win_pct, wins), (measure.avg_loss_pct, losses)):
            expected = statistics.fmean(t.move for t in side) if side else None
            assert average == pytest.approx(expected, abs=0.006)


def test_costs_come_off_each_trade_in_units_of_its_own_risk(
    record: Method, trades: list[Trade]
) -> None:
    for measure in record.measures:
        group = members(measure, trades)
        assert [cost.basis_points for cost in measure.after_costs] == [10, 25]
        for cost in measure.after_costs:
            paid = [t.r - cost.basis_points / 100 / t.risk_pct for t in group]
            assert cost.avg_r == pytest.approx(statistics.fmean(paid), abs=6e-4)


def test_the_groups_agree_with_the_track_records(book: Book, record: Method) -> None:
    counted: Counter[Family] = Counter()
    for measure in record.by_family()[:-1]:
        assert measure.family is not None
        counted[measure.family] += measure.trades
    for family in Family:
        entry = orjson.loads(book.family(family))["track_record"]
        assert counted[family] == entry["sample_size"]
    everything = record.by_family()[-1]
    assert everything.family is None
    assert everything.trades == sum(counted.values())
    assert sum(measure.trades for measure in record.by_decade()) == everything.trades
    assert sum(measure.trades for measure in record.by_family_and_decade()) == everything.trades
    assert record.as_of_session == NIGHT_SESSION
    assert (record.symbols, record.ended) == (5, 0)


def of_facts(facts: Rows) -> Method:
    """The method record of the trades of one symbol, without a market."""
    day = dt.date(2024, 5, 8)
    trades = Trades.of([("AAPL", facts)], Market.of(Returns.none(), 0))
    groups = [group for group, _ in shown(trades)]
    return method(
        trades,
        trades.tested(groups),
        open_trades=0,
        fates=Counter({Fate.CURRENT: 1}),
        start=day,
        as_of=day,
    )


def test_a_night_without_a_trade_has_no_measure() -> None:
    empty = of_facts(np.zeros(0, FACTS))
    assert empty.measures == []
    assert empty.by_family() == empty.by_decade() == empty.by_regime() == []


def test_one_half_year_alone_has_no_error() -> None:
    facts = np.zeros(2, FACTS)
    facts["outcome"], facts["direction"], facts["risk_pct"] = [1, 2], 1, 5
    facts["r"], facts["realized_pct"] = [2.0, -1.0], [10.0, -5.0]
    facts["entry_day"] = to_day(dt.date(2024, 3, 4)), to_day(dt.date(2024, 3, 28))
    found = of_facts(facts).by_family()[-1]
    assert (found.avg_r.mean, found.avg_r.error, found.clusters) == (0.5, None, 1)
    assert (found.draws, found.placebo_pct, found.difference_r) == (0, None, None)
    assert found.after_costs[0].avg_r == 0.48
    assert found.verdict == "too_few"


@pytest.mark.parametrize(
    ("wins", "trades", "low", "high"),
    [
        (0, 10, 0.0, 0.2775),  # Brown, Cai and DasGupta 2001 and any table of the interval
        (10, 10, 0.7225, 1.0),
        (5, 10, 0.2366, 0.7634),
        (81, 263, 0.2553, 0.3662),  # Newcombe 1998, table I
        (15, 148, 0.0624, 0.1605),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_intervals_are_those_of_the_literature(
    wins: int, trades: int, low: float, high: float
) -> None:
    assert wilson(wins, trades) == pytest.approx((low, high), abs=6e-5)


@given(st.integers(1, 10**6), st.data())
def test_a_wilson_interval_holds_its_rate(trades: int, data: st.DataObject) -> None:
    wins = data.draw(st.integers(0, trades))
    low, high = wilson(wins, trades)
    assert 0 <= low <= wins / trades <= high <= 1
    assert low < high


def test_trades_that_repeat_each_other_add_no_certainty() -> None:
    rng = np.random.default_rng(3)
    values = rng.normal(0.1, 1.0, 240)
    ones, months = np.ones(240), np.arange(240)
    alone = clustered(values, ones, months)
    fourfold = clustered(np.repeat(values, 4), np.ones(960), np.repeat(months, 4))
    assert alone is not None
    assert fourfold is not None
    assert alone.error == pytest.approx(values.std(ddof=1) / math.sqrt(240))
    assert fourfold.error == pytest.approx(alone.error)
    assert clustered(np.zeros(0), np.zeros(0), np.zeros(0, np.int64)) is None
