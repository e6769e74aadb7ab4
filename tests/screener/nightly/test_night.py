"""A whole night: causal, deterministic, and every served number traceable to bars."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import orjson
import pytest

from screener.commands.bars_options import BarsOptions
from screener.commands.nightly import order_of
from screener.nightly.bars import Bars, to_date, to_day
from screener.nightly.detector.parameters import DEFAULTS, Parameters
from screener.nightly.night import make_night
from screener.nightly.plan import Order
from screener.nightly.reference.reference import Reference
from screener.nightly.sample import SAMPLE_SESSION, sample_reference, sample_source
from screener.settings.settings import Settings
from store.nights.book import Book
from store.nights.nights import Nights
from store.wire.records import PastTrade, ScanSetup
from tests.conftest import CROWDED, NIGHT_SESSION
from tests.contract.market import active_book
from tests.screener.nightly.nights import cleaned_sample, source_of
from tests.screener.nightly.series import LENIENT, write_csv

NOW = dt.datetime(2026, 1, 2, 12, tzinfo=dt.UTC)


@pytest.fixture(scope="module")
def crowded(night: Path) -> Iterator[Book]:
    """The tests' night, made by lenient rules, with setups of several families."""
    with closing(active_book(night)) as opened:
        yield opened


@pytest.fixture(scope="module")
def product(product_night: Path) -> Iterator[Book]:
    """The sample night as the product makes it."""
    with closing(active_book(product_night)) as opened:
        yield opened


@pytest.fixture(params=["crowded", "product"])
def book(request: pytest.FixtureRequest) -> Book:
    """Both of them, one after the other."""
    opened: Book = request.getfixturevalue(request.param)
    return opened


def sample_bars(symbol: str, book: Book | None = None) -> Bars:
    """The sample's bars up to the session of a book, or else up to the sample's."""
    session = (book and book.session) or SAMPLE_SESSION
    return cleaned_sample(session)[symbol].bars


def rows(book: Book) -> list[ScanSetup]:
    return [ScanSetup.model_validate_json(body) for body in book.features.bodies]


def history(book: Book, symbol: str) -> list[PastTrade]:
    stored = book.history(symbol)
    assert stored is not None
    return [PastTrade.model_validate_json(row) for row in stored.rows]


def test_the_sample_night_shows_what_its_bars_show(product: Book) -> None:
    shown = [(row.symbol, row.pattern_type, row.direction, row.status) for row in rows(product)]

    assert shown == [
        ("AAPL", "rising_wedge", "bearish", "forming"),
        ("GOOG", "rising_wedge", "bearish", "forming"),
        ("GOOG", "ascending_triangle", "bullish", "in_progress"),
    ]
    assert history(product, "GOOG")[0].entry_date == dt.date(2009, 8, 17)


def test_lenient_rules_show_more_of_the_same_bars(crowded: Book) -> None:
    found = {(row.symbol, row.family.value, row.status) for row in rows(crowded)}

    assert found == {
        ("AAPL", "triangle", "in_progress"),
        ("MSFT", "triangle", "in_progress"),
        ("MSFT", "rising_wedge", "in_progress"),
        ("GOOG", "bullish_pennant", "forming"),
        ("IBM", "rising_wedge", "forming"),
    }


def test_apple_closes_on_each_session_where_it_did(crowded: Book, product: Book) -> None:
    apple = next(row for row in rows(crowded) if row.symbol == "AAPL")

    assert (apple.as_of_session, apple.last_close) == (dt.date(2012, 10, 3), 671.45)
    for later in (row for row in rows(product) if row.symbol == "AAPL"):
        assert (later.as_of_session, later.last_close) == (dt.date(2009, 9, 25), 182.37)


@pytest.mark.parametrize(("fixture", "version"), [("night", 1), ("product_night", 7)])
def test_every_record_and_the_manifest_name_the_detector(
    fixture: str, version: int, request: pytest.FixtureRequest
) -> None:
    folder = request.getfixturevalue(fixture)
    with closing(active_book(folder)) as book:
        records = [row.track_record for row in rows(book)]
    manifest = Nights(folder).check_active()

    named = {r.detector for record in records for r in (record.family, record.ticker) if r}
    assert named == {version}
    assert manifest.inputs.parameters["detector"] == version


@pytest.mark.parametrize(
    ("fixture", "parameters", "session"),
    [("night", CROWDED, NIGHT_SESSION), ("product_night", DEFAULTS, SAMPLE_SESSION)],
)
def test_two_runs_over_the_same_bars_give_the_same_bytes(
    fixture: str,
    parameters: Parameters,
    session: dt.date,
    request: pytest.FixtureRequest,
    tmp_path: Path,
) -> None:
    first = Nights(request.getfixturevalue(fixture)).active()
    assert first is not None
    order = order_of(Settings(), BarsOptions(session=session, jobs=2))

    second, _ = make_night(replace(order, parameters=parameters), Nights(tmp_path), now=NOW)

    assert second == first


@pytest.mark.parametrize("parameters", [CROWDED, LENIENT], ids=["crowded", "lenient"])
def test_a_night_never_sees_bars_after_its_session(parameters: Parameters, tmp_path: Path) -> None:
    """A source that ends with the session gives the same records as one with later bars."""
    session = dt.date(2009, 6, 30)
    for symbol in ("AAPL", "IBM", "GOOG", "MSFT", "FB"):
        (loaded,) = sample_source().load([symbol])
        kept = loaded.bars.until(to_day(session))
        write_csv(tmp_path / "cut" / f"{symbol}.csv", kept)
        write_csv(tmp_path / "whole" / f"{symbol}.csv", loaded.bars)
    books = {}
    for name in ("cut", "whole"):
        order = Order(
            source=source_of(tmp_path / name),
            name="same",
            reference=sample_reference(),
            parameters=parameters,
            session=session,
        )
        make_night(order, Nights(tmp_path / f"{name}-data"), now=NOW)
        books[name] = active_book(tmp_path / f"{name}-data")

    for symbol in ("AAPL", "IBM", "GOOG", "MSFT"):
        assert books["cut"].patterns(symbol) == books["whole"].patterns(symbol)
        assert books["cut"].history(symbol) == books["whole"].history(symbol)
        assert history(books["cut"], symbol)
    assert rows(books["cut"]) == rows(books["whole"]) != []
    for book in books.values():
        book.close()


@pytest.mark.proves("HIST-entry_date", "HIST-entry_price", "HIST-hold_bars", "HIST-exit")
@pytest.mark.proves("STATE-win", "STATE-loss", "STATE-open", "HIST-stop_price", "HIST-target_price")
@pytest.mark.proves("HIST-realized_move_pct", "HIST-r_multiple", "HIST-unrealized_r")
@pytest.mark.proves("HIST-target_move_pct")
@pytest.mark.parametrize("symbol", ["AAPL", "GOOG", "IBM", "MSFT"])
def test_every_history_row_can_be_checked_against_the_bars(book: Book, symbol: str) -> None:
    bars, found = sample_bars(symbol, book), history(book, symbol)

    assert found or symbol == "IBM"
    for row in found:
        check_history_row(bars, row)
    dates = [row.entry_date for row in found]
    assert dates == sorted(dates, key=str, reverse=True)


def check_history_row(bars: Bars, row: PastTrade) -> None:
    assert row.entry_date is not None
    assert row.entry_price is not None
    assert row.stop_price is not None
    assert row.target_price is not None
    entry = int(np.searchsorted(bars.date, to_day(row.entry_date)))
    sign = 1 if row.direction == "bullish" else -1
    assert row.entry_price == pytest.approx(bars.close[entry], rel=1e-6)
    assert sign * (row.target_price - row.entry_price) > 0
    assert sign * (row.entry_price - row.stop_price) > 0
    risk = abs(row.entry_price - row.stop_price)
    after = bars.take(slice(entry + 1, None))
    stopped = after.low <= row.stop_price if sign > 0 else after.high >= row.stop_price
    reached = after.high >= row.target_price if sign > 0 else after.low <= row.target_price
    over = np.flatnonzero(stopped | reached)
    assert (row.target_move_pct or 0) > 0
    if row.outcome == "open":
        assert not len(over)
        missing = (row.exit_date, row.exit_price, row.realized_move_pct, row.hold_bars)
        assert missing == (None, None, None, None)
        assert row.unrealized_r == pytest.approx(
            sign * (bars.close[-1] - row.entry_price) / risk, abs=2e-3
        )
        return
    bar = int(over[0])
    assert row.hold_bars == bar + 1
    assert row.exit_date == to_date(int(after.date[bar]))
    assert row.unrealized_r is None
    assert row.outcome == ("loss" if stopped[bar] else "win")
    assert row.exit_price is not None
    stop_fill = min(row.stop_price, after.open[bar]) if sign > 0 else max(
        row.stop_price, after.open[bar]
    )  # fmt: skip
    expected = stop_fill if row.outcome == "loss" else row.target_price
    assert row.exit_price == pytest.approx(expected, rel=1e-6)
    assert row.r_multiple == pytest.approx(
        sign * (row.exit_price - row.entry_price) / risk, abs=2e-3
    )
    assert row.realized_move_pct == pytest.approx(
        100 * sign * (row.exit_price / row.entry_price - 1), abs=0.011
    )


def test_every_record_states_its_placebo_and_its_losses(book: Book) -> None:
    for row in rows(book):
        record = row.track_record.family
        assert record is not None
        assert "at random dates reached the target in" in record.measured
        trades = "trade" if record.sample_size == 1 else "trades"
        assert f"{record.sample_size} resolved {trades} in the bars from" in record.summary
        assert "average loss" in record.summary


def test_served_lines_touch_their_bars_and_hold_every_close(book: Book) -> None:
    for row in rows(book):
        bars = sample_bars(row.symbol, book)
        for line, sign in ((row.lines.upper, 1), (row.lines.lower, -1)):
            days = [to_day(point.date) for point in (line.start, line.end)]
            start, end = np.searchsorted(bars.date, days).tolist()
            logs = np.linspace(
                math.log(line.start.price), math.log(line.end.price), end - start + 1
            )
            closes = np.log(bars.close[start : end + 1])
            assert np.all(sign * (closes - logs) <= 1e-6)
            assert line.touch_count == len(line.touches) >= 1
            swings = bars.high if sign > 0 else bars.low
            for touch in line.touches:
                bar = int(np.searchsorted(bars.date, to_day(touch.date)))
                assert start <= bar <= end
                assert touch.price == pytest.approx(swings[bar], rel=1e-6)


def test_a_forming_trigger_is_its_line_one_session_on(book: Book) -> None:
    forming = [row for row in rows(book) if row.status == "forming"]

    assert forming
    for row in forming:
        bars = sample_bars(row.symbol, book)
        plan = row.plans[0]
        line = row.lines.upper if plan.direction == "bullish" else row.lines.lower
        first, last = (
            int(np.searchsorted(bars.date, to_day(p.date))) for p in (line.start, line.end)
        )
        step = math.log(line.end.price / line.start.price) / (last - first)
        assert plan.trigger_price == pytest.approx(line.end.price * math.exp(step), rel=1e-5)
        assert re.search(rf"for {book.next_session}( is| the first level is)", row.trigger_rule)


def test_ranks_follow_the_typical_gain(book: Book) -> None:
    gains = [row.expected_gain_pct or 0 for row in rows(book)]

    assert gains == sorted(gains, reverse=True)
    assert [row.rank for row in rows(book)] == list(range(1, len(gains) + 1))


def test_a_symbol_with_bad_bars_is_named_and_the_others_are_served(tmp_path: Path) -> None:
    bars = sample_bars("IBM")
    write_csv(tmp_path / "bars" / "IBM.csv", bars)
    write_csv(tmp_path / "bars" / "SHORT.csv", bars.take(slice(-50, None)))
    (tmp_path / "bars" / "BROKEN.csv").write_text("what,is,this\n1,2,3\n")
    write_csv(tmp_path / "bars" / "OLD.csv", bars.take(slice(0, 2000)))
    (tmp_path / "bars" / "B@D.csv").write_text((tmp_path / "bars" / "IBM.csv").read_text())
    order = Order(source=source_of(tmp_path / "bars"), name="bars", reference=Reference())

    _, report = make_night(order, Nights(tmp_path / "data"), now=NOW)

    book = active_book(tmp_path / "data")
    codes = {code: set(symbols) for code, symbols in report.refused.items()}
    assert codes["too_few_bars"] == {"SHORT"}
    assert codes["stale"] == {"OLD"}
    assert codes["bad_symbol"] == {"B@D"}
    assert "BROKEN" in set().union(*codes.values())
    assert orjson.loads(book.patterns("IBM") or b"")["available"] is True
    for refused in ("SHORT", "OLD"):
        body = orjson.loads(book.patterns(refused) or b"")
        assert (body["available"], body["reason"], body["setups"]) == (False, "not_covered", [])
    assert book.history("OLD") is not None
    days = {"SHORT": bars.date[-1], "OLD": bars.date[1999]}
    assert book.last_bars == {name: str(to_date(int(day))) for name, day in days.items()}
    assert sum(row.symbol == "OLD" for row in rows(book)) == 0
    book.close()
