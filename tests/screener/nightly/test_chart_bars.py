"""What a night keeps for charts: the bars of every whole pattern, and the pole of each pennant."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from mcp_server.charts.past import BEFORE, shown
from screener.nightly.bars import to_date
from screener.nightly.detector.detector import detect
from screener.nightly.detector.events import PatternType
from screener.nightly.detector.parameters import Parameters
from screener.nightly.results.chart_bars import CHART_BARS, chart_bars
from screener.nightly.results.setups import pole_points
from screener.nightly.results.views import price
from store.nights.book import Book
from store.nights.prices import SHOWN
from tests.contract.market import active_book, setups_of
from tests.screener.nightly.series import daily
from tests.screener.nightly.shapes import LEAD_IN, squeeze

DAY = dt.date(1970, 1, 1)
POLE = ("pole_start_date", "pole_start_price", "pole_tip_date", "pole_tip_price")


@pytest.fixture(scope="module")
def book(night: Path) -> Iterator[Book]:
    with closing(active_book(night)) as opened:
        yield opened


def test_every_setup_of_a_night_has_its_whole_pattern_and_its_pole_among_the_bars(
    book: Book,
) -> None:
    for setup, prices in setups_of(book):
        first = setup.evidence.get("pole_start_date") or setup.fields["pattern_start"]
        assert to_date(prices.date[0]) < dt.date.fromisoformat(first)


def test_a_night_keeps_the_last_bars_of_every_symbol_that_it_covers_and_of_no_other(
    book: Book,
) -> None:
    symbols = {entry["symbol"] for entry in json.loads(b"{%b}" % book.universe())["symbols"]}
    assert symbols - {view.symbol for view in book.scan.rows}
    for symbol in symbols:
        prices, coverage = book.kept_prices(symbol), book.coverage(symbol)
        assert coverage is not None
        assert (prices is not None) == coverage.covered
        newest = book.prices(symbol)
        assert (newest is None) == (prices is None)
        if prices is not None and newest is not None:
            assert to_date(prices.date[-1]) == book.session
            for name in ("date", "open", "high", "low", "close", "volume"):
                assert np.array_equal(getattr(newest, name), getattr(prices, name)[-SHOWN:])


def test_the_evidence_of_a_pennant_has_its_pole_and_that_of_others_has_none(book: Book) -> None:
    pennants = 0
    for setup, _ in setups_of(book):
        found = [name in setup.evidence for name in POLE]
        assert found == ["squeeze" in setup.fields["pattern_type"]] * 4
        if any(found):
            pennants += 1
            tip = dt.date.fromisoformat(setup.evidence["pole_tip_date"])
            start = dt.date.fromisoformat(setup.fields["pattern_start"])
            assert abs((tip - start).days) <= 4  # two sessions, perhaps about a weekend
    assert pennants


@pytest.mark.parametrize("direction", [1, -1])
def test_a_pole_runs_from_its_base_to_the_first_touch(direction: int) -> None:
    bars = squeeze(direction).bars
    versions = detect(bars).versions
    (version, *_) = versions[np.isin(versions["type"], [PatternType.BULLISH_SQUEEZE, 7])]
    tip = LEAD_IN + 8
    begins, ends = (bars.low, bars.high) if direction > 0 else (bars.high, bars.low)
    base = tip - 15 + int(np.argmin(direction * begins[tip - 15 : tip]))
    assert pole_points(bars, version, Parameters()) == {
        "pole_start_date": to_date(bars.date[base]).isoformat(),
        "pole_start_price": price(begins[base]),
        "pole_tip_date": to_date(bars.date[tip]).isoformat(),
        "pole_tip_price": price(ends[tip]),
    }


@pytest.mark.parametrize(("bars", "kept"), [(200, 200), (9000, CHART_BARS)])
def test_a_night_keeps_the_last_bars_up_to_a_bound(bars: int, kept: int) -> None:
    prices = chart_bars(daily(bars, to_date(bars - 1)))
    assert len(prices.date) == kept == len(prices.close)
    assert prices.date[-1] == bars - 1


@pytest.mark.parametrize(
    ("bars", "since", "given"),
    [
        (200, 40, 200),
        (900, 40, SHOWN),
        (900, SHOWN - BEFORE, SHOWN),
        (900, 500, 500 + BEFORE),
        (900, 890, 900),
        (9000, 4000, CHART_BARS),
        (900, None, SHOWN),
    ],
)
def test_a_chart_is_given_the_bars_from_before_its_pattern_on(
    bars: int, since: int | None, given: int
) -> None:
    start = None if since is None else DAY + dt.timedelta(days=bars - since)
    prices = shown(chart_bars(daily(bars, to_date(bars - 1))), start)
    assert len(prices.date) == given == len(prices.close)
    assert prices.date[-1] == bars - 1
