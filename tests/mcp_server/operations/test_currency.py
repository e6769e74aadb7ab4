"""Prices in another currency than dollars stand with it in every answer."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from typing import Any

import pytest

from mcp_server.charts.chart_data import chart_data
from mcp_server.charts.past import Past, past_view
from mcp_server.drawing.text import facts
from mcp_server.operations.arguments import HistoryArguments, ScanArguments
from mcp_server.operations.handlers.patterns import history_body
from mcp_server.operations.handlers.scan import scan_body
from screener.nightly.night import make_night
from screener.nightly.reference.reference import Listing, Reference
from store.nights.book import Book
from store.nights.nights import Nights
from store.wire.scan_index import compact
from store.wire.words import caption
from tests.contract.market import setup_of
from tests.screener.nightly.nights import book_of, order_over
from tests.screener.nightly.series import walk

NOW = dt.datetime(2024, 3, 29, tzinfo=dt.UTC)


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Book]:
    """A night of symbols in dollars and of others in pence."""
    folder = tmp_path_factory.mktemp("currencies")
    bars = {f"{name}{seed}": walk(400, seed) for seed in range(10) for name in ("US", "UK")}
    pence = {name: Listing(name, quote_currency="GBX") for name in bars if name.startswith("UK")}
    nights = Nights(folder / "data")
    order = order_over(folder, bars, reference=Reference(pence))
    manifest, _ = make_night(order, nights, now=NOW)
    with book_of(nights, manifest) as found:
        yield found


def scanned(book: Book, **arguments: Any) -> Any:
    return json.loads(scan_body(book, ScanArguments(status="all", limit=200, **arguments)))


def test_every_row_of_the_scan_names_its_currency(book: Book) -> None:
    found = {row["symbol"][:2]: row["currency"] for row in scanned(book)["setups"]}
    assert found == {"US": "USD", "UK": "GBX"}
    assert not any("US dollars" in note for note in scanned(book)["notes"])


def test_a_filter_in_dollars_matches_dollars_and_says_so_of_others(book: Book) -> None:
    price = '[{"kind":"price","op":">","value":0.01}]'
    every, found = scanned(book), scanned(book, filters=price)

    symbols = [row["symbol"] for row in every["setups"]]
    pence = sum(symbol.startswith("UK") for symbol in symbols)
    assert {row["symbol"] for row in found["setups"]} == {s for s in symbols if s[:2] == "US"}
    assert found["without_evidence"] == {"price": pence}
    assert any("US dollars" in note for note in found["notes"])
    rsi = '[{"kind":"rsi","op":">","value":0}]'
    assert scanned(book, filters=rsi)["count"] == every["count"]


@pytest.mark.parametrize("sort", ["price", "trigger"])
def test_an_order_of_prices_has_those_of_every_currency_and_says_so(book: Book, sort: str) -> None:
    found = scanned(book, sort=sort)
    prices = [
        row["last_close"] if sort == "price" else book.scan.by_id[row["setup_id"]].plan.start
        for row in found["setups"]
    ]
    assert prices == sorted(prices)
    said = "This order compares prices of several currencies as bare numbers."
    assert said in found["notes"]
    dollars = '[{"kind":"price","op":">","value":0}]'
    assert said not in scanned(book, sort=sort, filters=dollars)["notes"]
    assert said not in scanned(book)["notes"]


def test_words_lists_and_charts_have_the_currency_of_a_setup(book: Book) -> None:
    for view in book.scan.rows:
        pence = view.symbol.startswith("UK")
        stored, _ = setup_of(book, view.symbol, view.setup_id)
        data = chart_data(book, stored)
        assert data is not None
        assert json.loads(data)["currency"] == view.currency == ("GBX" if pence else "USD")
        assert compact(view).get("currency") == ("GBX" if pence else None)
        words = caption(view, "")
        assert ("$" in words, "p;" in words or "p," in words) == (not pence, pence)


def test_a_history_has_the_currency_of_its_symbol(book: Book) -> None:
    for symbol, currency in (("US1", "USD"), ("UK1", "GBX")):
        arguments = HistoryArguments(symbol=symbol)
        assert json.loads(history_body(book, arguments))["currency"] == currency


@pytest.mark.parametrize(
    ("symbol", "said"),
    [
        ("US1", "daily bars, log price axis"),
        ("UK1", "daily bars, log price axis, prices in GBX"),
    ],
)
def test_a_chart_says_its_currency_where_that_is_not_dollars(
    book: Book, symbol: str, said: str
) -> None:
    prices = book.kept_prices(symbol)
    assert prices is not None
    assert facts(past_view(book, Past(symbol), prices), 1, None)["axis"] == said
