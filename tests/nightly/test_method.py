"""The method's page: its groups add up, and its intervals are those of the literature.

`tests.nightly.test_recomputed` computes its numbers a second time.
"""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from contextlib import closing
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
from store.families import Family
from store.method import Method
from tests.conftest import NIGHT_SESSION
from tests.contract.market import active_book

SYMBOLS = ("AAPL", "FB", "GOOG", "IBM", "MSFT")


def test_the_groups_add_up_to_the_track_records_and_to_the_rows_of_history(night: Path) -> None:
    with closing(active_book(night)) as book:
        record = book.method()
        sizes = {
            family: orjson.loads(book.family(family))["track_record"]["sample_size"]
            for family in Family
        }
        stored = [history.rows for symbol in SYMBOLS if (history := book.history(symbol))]
    assert record is not None
    assert len([measure for measure in record.measures if measure.regime is None]) == 19
    counted: Counter[Family] = Counter()
    for measure in record.by_family()[:-1]:
        assert measure.family is not None
        counted[measure.family] += measure.trades
    assert counted == sizes
    everything = record.by_family()[-1]
    rows = [orjson.loads(body) for rows in stored for body in rows]
    assert everything.family is None
    assert everything.trades == sum(row["outcome"] != "open" for row in rows)
    assert everything.trades == sum(counted.values())
    assert [cost.basis_points for cost in everything.after_costs] == [10, 25]
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
