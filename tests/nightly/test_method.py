"""The method's numbers, recomputed in plain Python from the rows of the sealed book."""

from __future__ import annotations

import datetime as dt
import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from hashlib import blake2b
from pathlib import Path

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightly.bars import Bars, to_date, to_day
from nightly.cleaning import clean
from nightly.history import FACTS, Fate
from nightly.intervals import clustered, wilson
from nightly.method import method
from nightly.sample import SAMPLE_SESSION, sample_reference, sample_source
from nightly.sessions import past_window
from store.book import Book
from store.families import Family
from store.method import Measure, Method
from store.nights import Nights
from store.records import HistoryRow

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
    """One history row with the outcome of its random entries, walked bar by bar."""

    def __init__(self, symbol: str, row: HistoryRow, bars: Bars) -> None:
        prices = (row.entry_price, row.stop_price, row.target_price, row.exit_price)
        entry, stop, target, left = (price for price in prices if price is not None)
        assert row.entry_date is not None
        self.row = row
        self.sign = 1 if row.direction == "bullish" else -1
        self.r = self.sign * (left - entry) / abs(entry - stop)
        self.move = 100 * self.sign * (left / entry - 1)
        self.risk_pct = 100 * abs(entry - stop) / entry
        self.month = row.entry_date.strftime("%Y-%m")
        self.decade = row.entry_date.year // 10 * 10
        text = f"{symbol} {row.entry_date} {self.sign:+d}".encode()
        seed = int.from_bytes(blake2b(text, digest_size=8).digest(), "big")
        at = bars.date.tolist().index(to_day(row.entry_date))
        starts = [at + 40 + _split_mix(seed + n * 0x9E3779B97F4A7C15) % 361 for n in (1, 2, 3)]
        walked = [self._walk(bars, bar, stop / entry, target / entry) for bar in starts]
        self.draws = [draw for draw in walked if draw is not None]

    def _walk(
        self, bars: Bars, at: int, stop_ratio: float, target_ratio: float
    ) -> tuple[bool, float] | None:
        """Whether a random entry reached its target, and its R; None while open or past the end."""
        price = float(bars.close[at]) if at < len(bars) else math.nan
        stop, target = price * stop_ratio, price * target_ratio
        for bar in range(at + 1, len(bars)):
            worst, best = (bars.low[bar], bars.high[bar])[:: self.sign]
            if self.sign * (worst - stop) <= 0:
                paid = self.sign * min(self.sign * bars.open[bar], self.sign * stop)
                return False, self.sign * (float(paid) - price) / abs(price - stop)
            if self.sign * (best - target) >= 0:
                return True, self.sign * (target - price) / abs(price - stop)
        return None


def _split_mix(state: int) -> int:
    """The finaliser of SplitMix64 on 64 bits."""
    mask = 2**64 - 1
    state &= mask
    state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 & mask
    state = (state ^ (state >> 27)) * 0x94D049BB133111EB & mask
    return state ^ (state >> 31)


@pytest.fixture(scope="module")
def trades(book: Book) -> list[Trade]:
    found = []
    for symbol in SYMBOLS:
        (loaded,) = sample_source().load([symbol])
        listing = sample_reference().listing(symbol)
        bars = clean(
            loaded.bars,
            asset_type="stock",
            window=past_window(SAMPLE_SESSION, "stock"),
            adjustment=listing.adjustment,
            splits=listing.splits,
        ).bars
        stored = book.history(symbol)
        assert stored is not None
        rows = [HistoryRow.model_validate_json(body) for body in stored.rows]
        found += [Trade(symbol, row, bars) for row in rows if row.outcome != "open"]
    return found


def members(measure: Measure, trades: list[Trade]) -> list[Trade]:
    return [
        trade
        for trade in trades
        if measure.family in (None, trade.row.family)
        and measure.direction in (None, trade.row.direction)
        and measure.decade in (None, trade.decade)
    ]


def month_error(
    group: list[Trade], total: Callable[[Trade], float], weight: Callable[[Trade], float]
) -> float | None:
    """The error of a ratio of sums with months as clusters, summed by hand."""
    weights = sum(map(weight, group))
    mean = sum(map(total, group)) / weights
    clusters: dict[str, float] = defaultdict(float)
    for trade in group:
        clusters[trade.month] += total(trade) - mean * weight(trade)
    number = len(clusters)
    if number < 2:
        return None
    return math.sqrt(sum(c * c for c in clusters.values()) * number / (number - 1)) / weights


def test_every_group_is_recomputed_from_the_history_rows(
    record: Method, trades: list[Trade]
) -> None:
    assert len(record.measures) == 19
    for measure in record.measures:
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
        error = month_error(group, lambda t: t.r, lambda _: 1.0)
        assert measure.avg_r.error == pytest.approx(error, abs=6e-4)
        assert measure.months == len({trade.month for trade in group})
        for average, side in ((measure.avg_win_pct, wins), (measure.avg_loss_pct, losses)):
            expected = statistics.fmean(t.move for t in side) if side else None
            assert average == pytest.approx(expected, abs=0.006)


def test_the_placebo_of_every_group_is_walked_again_bar_by_bar(
    record: Method, trades: list[Trade]
) -> None:
    for measure in record.measures:
        group = members(measure, trades)
        draws = [draw for trade in group for draw in trade.draws]
        assert measure.draws == len(draws)
        assert measure.placebo_pct is not None
        reached = 100 * statistics.fmean(won for won, _ in draws)
        assert measure.placebo_pct.mean == pytest.approx(reached, abs=0.006)
        error = month_error(
            group, lambda t: 100.0 * sum(won for won, _ in t.draws), lambda t: len(t.draws)
        )
        assert measure.placebo_pct.error == pytest.approx(error, abs=0.006)


def test_the_difference_is_that_of_each_trade_and_its_own_draws(
    record: Method, trades: list[Trade]
) -> None:
    def own(trade: Trade) -> float:
        return trade.r - statistics.fmean(r for _, r in trade.draws)

    for measure in record.measures:
        group = [trade for trade in members(measure, trades) if trade.draws]
        assert measure.difference_r is not None
        assert measure.difference_r.mean == pytest.approx(
            statistics.fmean(map(own, group)), abs=6e-4
        )
        error = month_error(group, own, lambda _: 1.0)
        assert measure.difference_r.error == pytest.approx(error, abs=6e-4)


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
    assert record.as_of_session == SAMPLE_SESSION
    assert (record.symbols, record.ended) == (5, 0)


def test_a_night_without_a_trade_has_no_measure() -> None:
    day = dt.date(2024, 3, 8)
    empty = method(
        np.zeros(0, FACTS), fates=Counter({Fate.CURRENT: 2, Fate.STOPPED: 1}), start=day, as_of=day
    )
    assert empty.measures == []
    assert empty.by_family() == empty.by_decade() == []


def test_one_month_alone_has_no_error() -> None:
    facts = np.zeros(2, FACTS)
    facts["outcome"], facts["direction"], facts["risk_pct"] = [1, -1], 1, 5
    facts["r"], facts["realized_pct"] = [2.0, -1.0], [10.0, -5.0]
    facts["entry_day"] = to_day(dt.date(2024, 3, 4)), to_day(dt.date(2024, 3, 28))
    day = dt.date(2024, 5, 8)
    found = method(facts, fates=Counter({Fate.CURRENT: 1}), start=day, as_of=day).by_family()[-1]
    assert (found.avg_r.mean, found.avg_r.error, found.months) == (0.5, None, 1)
    assert (found.draws, found.placebo_pct, found.difference_r) == (0, None, None)
    assert found.after_costs[0].avg_r == 0.48
    assert not found.distinguishable
    assert to_date(int(facts["entry_day"][0])).month == 3


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
