"""The method's page of a night with hardly any trades, and the stepdown of one with many lines.

`tests.screener.nightly.test_recomputed` computes its numbers a second time.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter

import numpy as np
import pytest

from screener.nightly.bars import to_day
from screener.nightly.detector.events import Rows
from screener.nightly.results.history import FACTS, ListingStatus
from screener.nightly.results.returns import Returns
from screener.nightly.statistics import romano_wolf
from screener.nightly.statistics.groups import ResolvedTrades
from screener.nightly.statistics.market import MarketDays
from screener.nightly.statistics.method import method, shown
from store.wire.method import Method


def of_facts(facts: Rows) -> Method:
    """The method record of the trades of one symbol, without a market."""
    day = dt.date(2024, 5, 8)
    trades = ResolvedTrades.of([("AAPL", facts)], MarketDays.of(Returns.total([]), 0))
    return method(
        trades,
        trades.tested(shown(trades)),
        open_trades=0,
        fates=Counter({ListingStatus.CURRENT: 1}),
        start=day,
        as_of=day,
        as_served={},
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


def test_lines_that_are_tested_some_at_a_time_have_the_p_of_all_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    values = np.random.default_rng(3).normal(0.1, 1.0, 720)
    lines = [np.arange(720) % 7 == rest for rest in range(7)]
    together = romano_wolf.adjusted_p(values, lines, np.arange(720) // 6)
    monkeypatch.setattr(romano_wolf, "TOGETHER", 2)
    assert romano_wolf.adjusted_p(values, lines, np.arange(720) // 6) == together
    assert len({*together}) > 2
