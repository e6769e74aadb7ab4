"""Symbols without a setup and past trades: their charts, and why one is missing."""

from __future__ import annotations

import datetime as dt
import io
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from PIL import Image

from mcp_server.charts.past import Past, marks_of, past_view
from screener.commands.bars_options import BarsOptions
from screener.commands.nightly import make_and_publish, order_of
from screener.settings.settings import Settings
from store.ledger.ledger import Ledger
from store.ledger.served import ServedSetup, TradeKey
from store.nights.book import Book, Prices
from store.wire.currency import money
from store.wire.labels import CHANGE_REASONS
from store.wire.words import served_words, why_words
from tests.books import Content
from tests.conftest import CROWDED, seal_night
from tests.contract.market import active_book
from tests.resealed import forget_lines, reseal
from tests.screener.command import run
from tests.screener.web.browser import Browser
from tests.screener.web.people import new_person, signed_in
from tests.service import Service, serving

RUNNING = dt.date(2012, 6, 1)
"""On this day a trade of GOOG ran that had ended by the night's session."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tests' night, and recorded in its ledger one while an earlier trade of GOOG ran."""
    folder = tmp_path_factory.mktemp("served")
    settings = Settings(data_dir=folder)
    earlier = order_of(settings, BarsOptions(session=RUNNING))
    make_and_publish(settings, replace(earlier, parameters=CROWDED))
    seal_night(folder)
    return folder


def trades(book: Book, symbol: str) -> list[dict[str, Any]]:
    stored = book.history(symbol)
    return [orjson.loads(row) for row in stored.rows] if stored else []


def address(symbol: str, trade: dict[str, Any]) -> str:
    return f"/symbols/{symbol}/trades/{trade['lineage_id']}"


def bars_of(book: Book, symbol: str) -> Prices:
    """The bars that the night keeps of a symbol."""
    prices = book.kept_prices(symbol)
    assert prices is not None
    return prices


def past_of(book: Book, symbol: str, trade: dict[str, Any]) -> Past:
    past = Past.of(book, symbol, trade["lineage_id"])
    assert past is not None
    return past


def test_a_symbol_without_a_setup_has_a_chart_of_its_bars(data_dir: Path) -> None:
    with serving(data_dir, demo_symbols=("MSFT", "FB")) as live:
        page = Browser(live).get("/symbols/FB").text
        assert "No pattern on FB right now, and no trade in progress" in page
        assert "/symbols/FB/chart.png?theme=light&amp;width=1200" in page
        for width in (320, 720, 1200):
            answer = Browser(live).get(f"/symbols/FB/chart.png?theme=dark&width={width}")
            assert Image.open(io.BytesIO(answer.content)).width == width


def test_a_trade_that_is_too_old_to_be_listed_is_not_denied(data_dir: Path) -> None:
    def keep_open(content: Content) -> None:
        content.nearest.clear()
        content.histories["FB"] = ("o", content.histories["AAPL"][1][:1])

    reseal(data_dir, keep_open)
    with closing(active_book(data_dir)) as book:
        entered = trades(book, "FB")[0]["entry_date"]
    said = (
        f"No pattern on FB right now. Still open, but too old to be listed: a trade of {entered}."
    )
    with serving(data_dir, demo_symbols=("FB",)) as live:
        assert said in Browser(live).get("/symbols/FB").text
    assert said in " ".join(run(data_dir, "show", "FB").stdout.split())


def test_who_may_only_scan_sees_the_thumbnail_of_a_symbol_and_no_past_trade(
    closed: Service, book: Book
) -> None:
    scanning = signed_in(closed, new_person(closed))
    newest = trades(book, "AAPL")[0]
    trade = f"/symbols/AAPL/chart.png?trade={newest['lineage_id']}"

    assert "width=320" in scanning.get("/symbols/FB").text
    assert scanning.get("/symbols/AAPL/chart.png?width=320").status_code == 200
    for refused in ("/symbols/AAPL/chart.png", trade, f"{trade}&width=320"):
        assert scanning.get(refused).status_code == 403
    away = scanning.get(address("AAPL", newest))
    assert (away.status_code, away.headers["location"]) == (303, "/symbols/AAPL")


def test_each_trade_of_a_history_has_a_page_with_its_numbers_and_a_chart_or_why_there_is_none(
    service: Service, book: Book
) -> None:
    browser, prices = Browser(service), bars_of(book, "GOOG")
    assert len(prices.date) == 1280
    drawn, history = 0, browser.get("/symbols/GOOG").text
    for trade in trades(book, "GOOG"):
        assert f'href="{address("GOOG", trade)}"' in history
        page = browser.get(address("GOOG", trade)).text
        prices_told = (
            money(trade[f"{name}_price"], "USD") for name in ("entry", "stop", "target", "exit")
        )
        assert all(told in page for told in (*prices_told, trade["entry_date"], trade["exit_date"]))
        picture = browser.get(f"/symbols/GOOG/chart.png?trade={trade['lineage_id']}")
        if past_of(book, "GOOG", trade).is_among(prices):
            drawn += 1
            assert "width=1200" in page
            assert picture.headers["content-type"] == "image/png"
        else:
            assert (
                f"older than the {len(prices.date):,} sessions of GOOG that the night stores"
                in page
            )
            assert picture.status_code == 404
    assert 0 < drawn < len(trades(book, "GOOG"))


def test_a_night_without_bars_of_a_symbol_says_so(data_dir: Path) -> None:
    reseal(data_dir, lambda content: content.prices.clear())
    with closing(active_book(data_dir)) as book:
        newest = trades(book, "MSFT")[0]
    with serving(data_dir, demo_symbols=("MSFT", "FB")) as live:
        assert "chart.png" not in Browser(live).get("/symbols/FB").text
        assert "stores no bars of MSFT" in Browser(live).get(address("MSFT", newest)).text
        assert Browser(live).get("/symbols/FB/chart.png").status_code == 404


def test_a_trade_that_the_night_does_not_know_has_no_page(service: Service) -> None:
    assert Browser(service).get("/symbols/GOOG/trades/nope").status_code == 404
    assert Browser(service).get("/symbols/NOPE/trades/nope").status_code in (303, 404)


def test_a_trade_that_runs_has_the_lines_of_its_setup(book: Book) -> None:
    trade = next(row for row in trades(book, "MSFT") if row["outcome"] == "open")
    (upper,) = (
        fields["lines"]["upper"]
        for fields in orjson.loads(book.patterns("MSFT") or b"")["setups"]
        if (fields["lineage_id"], fields["attempt"]["number"]) == (trade["lineage_id"], 1)
    )
    lines = past_of(book, "MSFT", trade).lines
    assert lines
    assert lines[0].start[1] == upper["start"]["price"]


def test_each_past_trade_has_its_lines_as_a_night_served_them_while_it_ran(
    served: Path,
) -> None:
    with closing(active_book(served)) as book:
        early = next(row for row in trades(book, "GOOG") if row["entry_date"] < f"{RUNNING}")
    ledger, key = Ledger(served), TradeKey("GOOG", early["lineage_id"], 1)
    (running,) = (
        line
        for line in ledger.read(ledger.names()[0]).lines()
        if isinstance(line, ServedSetup) and line.key == key and line.entry_date
    )
    for side in ("upper", "lower"):
        ends = [early["lines"][side][end] for end in ("start", "end")]
        then = [point.model_dump(mode="json") for point in getattr(running.lines, side)]
        assert ends == then

    with closing(active_book(served)) as book:
        for symbol in ("AAPL", "GOOG", "IBM", "MSFT"):
            for row in trades(book, symbol):
                lines = past_of(book, symbol, row).lines
                assert lines
                assert all(line.end[0] < dt.date.fromisoformat(row["entry_date"]) for line in lines)
        drawn = past_of(book, "GOOG", early)
        view = past_view(book, drawn, bars_of(book, "GOOG"))
    assert view.lines == drawn.lines
    assert drawn.since is not None
    assert view.dates[0] < drawn.since


def test_a_night_that_was_sealed_before_history_had_lines_says_so(data_dir: Path) -> None:
    reseal(data_dir, forget_lines)
    with closing(active_book(data_dir)) as book:
        newest = trades(book, "GOOG")[0]
        assert past_of(book, "GOOG", newest).lines == ()
    with serving(data_dir, demo_symbols=("GOOG",)) as live:
        page = Browser(live).get(address("GOOG", newest)).text
    assert "chart.png" in page
    assert "Its trend lines are not stored in this night" in page


def test_a_symbol_shows_the_drawing_that_it_lost_and_not_another(served: Path) -> None:
    with closing(active_book(served)) as book:
        gone = [row for row in (book.changes() or {})["changes"] if row["lines"]]
        lost = {row["symbol"]: row for row in gone}
        assert lost
        for symbol, row in lost.items():
            view = past_view(book, Past(symbol), bars_of(book, symbol))
            upper, _lower = view.lines
            assert (upper.start[0].isoformat(), upper.start[1]) == (
                row["lines"]["upper"]["start"]["date"],
                row["lines"]["upper"]["start"]["price"],
            )
            assert CHANGE_REASONS[row["reason"]] in view.note
    with serving(served) as live:
        visitor = signed_in(live, new_person(live))
        symbol, row = next(iter(lost.items()))
        page = visitor.get(f"/symbols/{symbol}").text
        picture = f"/symbols/{symbol}/chart.png?lost={row['lineage_id']}"
        assert served_words(row) in page
        assert why_words(row) in page
        assert f"{picture}&amp;theme=light&amp;width=320" in page
        assert visitor.get(f"{picture}&theme=light&width=320").status_code == 200
        assert visitor.get(f"{picture}x&theme=light&width=320").status_code == 404
        assert all("lines" not in one for one in live.get("/changes").json()["changes"])


def test_the_marks_of_a_symbol_are_the_trades_within_its_kept_bars(book: Book) -> None:
    """Also the trade that began before the first of them."""
    whole, rows = bars_of(book, "GOOG"), trades(book, "GOOG")
    held = next(row for row in rows if row["exit_date"] and row["hold_bars"] > 1)
    first = dt.date.fromisoformat(held["exit_date"])
    kept = np.flatnonzero(whole.date >= (first - dt.date(1970, 1, 1)).days)
    prices = Prices(
        whole.date[kept], *(getattr(whole, name)[kept] for name in ("open", "high", "low", "close"))
    )
    marks = marks_of(book, "GOOG", prices)
    inside = [row for row in rows if (row["exit_date"] or "9999") >= f"{first}"]

    assert held in inside
    assert [f"{mark.entry[0]}" for mark in marks] == [row["entry_date"] for row in inside]
    assert [mark.won for mark in marks] == [row["outcome"] == "win" for row in inside]
    assert past_view(book, Past("GOOG"), prices).note == f"{len(inside)} marked"


def test_the_chart_of_a_trade_ends_some_sessions_after_its_exit(book: Book) -> None:
    trade = next(row for row in trades(book, "GOOG") if row["exit_date"] and row["hold_bars"])
    view = past_view(book, past_of(book, "GOOG", trade), bars_of(book, "GOOG"))

    assert view.exit is not None
    assert view.exit[0] in view.dates
    assert len([day for day in view.dates if day > view.exit[0]]) == 20
    assert (view.stop, view.target) == (trade["stop_price"], trade["target_price"])
