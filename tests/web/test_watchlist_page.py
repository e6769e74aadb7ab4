"""The page of the Main watchlist."""

from __future__ import annotations

import html
import re
from contextlib import closing
from pathlib import Path

import pytest

from store.accounts import Account, Plan
from store.setup_words import place_words, state_words
from store.watchlist import Watchlist
from tests.contract.market import active_book
from tests.service import Service, on_database, serving
from tests.web.people import new_person, signed_in


def tracked(service: Service, account: Account) -> list[str]:
    return on_database(service, lambda database: Watchlist(database).symbols(account.id))


def lines(page: str) -> dict[str, str]:
    """What the list says of each ticker, in words."""
    rows = re.findall(r'<tr role="row" id="([^"]+)"[^>]*>(.*?)</tr>', page, re.DOTALL)
    return {
        symbol: " ".join(html.unescape(re.sub(r"<[^>]+>", " ", row)).split())
        for symbol, row in rows
    }


def test_the_list_stands_in_the_users_order_with_name_setup_and_distance(
    service: Service,
) -> None:
    tracked_symbols = ("MSFT", "GONE", "F", "AAPL")
    browser = signed_in(service, new_person(service, tracked=tracked_symbols))

    page = browser.get("/watchlist").text
    found = lines(page)

    assert tuple(found) == tracked_symbols
    assert "no data yet" in found["GONE"]
    for symbol in ("MSFT", "AAPL"):
        name = next(
            entry["name"]
            for entry in service.get("/universe", key="").json()["symbols"]
            if entry["symbol"] == symbol
        )
        assert name in found[symbol]
    with closing(active_book(service.settings.data_dir)) as book:
        views = [view for view in book.scan.rows if view.symbol in tracked_symbols]
    assert {view.status for view in views} == {"in_progress"}
    for view in views:
        shown = f"{view.pattern} {view.direction}, {state_words(view)} {place_words(view)}"
        assert shown in found[view.symbol]
        assert "since the entry" in shown
    assert "4 of 200" in page


def test_a_ticker_without_a_setup_is_one_quiet_line(service: Service) -> None:
    covered = [entry["symbol"] for entry in service.get("/universe", key="").json()["symbols"]]
    held = {
        setup["symbol"] for setup in service.get("/scan", params={"status": "all"}).json()["setups"]
    }
    quiet = [symbol for symbol in covered if symbol not in held][:3]
    browser = signed_in(service, new_person(service, tracked=(*quiet, "AAPL")))

    page = browser.get("/watchlist").text
    chosen = browser.get("/watchlist?show=setups").text

    assert quiet
    assert page.count('class="quiet"') == len(quiet)
    assert all("no setup" in lines(page)[symbol] for symbol in quiet)
    assert list(lines(chosen)) == ["AAPL"]
    assert re.findall(r'<span class="size">(\d+)<', page) == [str(len(quiet) + 1), "1"]


def test_a_setup_has_its_picture_and_each_symbol_that_the_night_knows_its_page(
    service: Service,
) -> None:
    page = signed_in(service, new_person(service, tracked=("AAPL", "GONE"))).get("/watchlist").text

    assert re.findall(
        r'<img class="thumbnail" src="/symbols/(\w+)/chart.png\?[^"]*width=320"', page
    ) == ["AAPL"]
    assert set(re.findall(r'href="/symbols/([^"]+)"', page)) == {"AAPL"}
    assert "GONE" in page
    assert re.search(r'alt="AAPL: [^"]+, bullish, in progress"', page)


def test_without_a_plan_the_list_asks_for_no_picture(service: Service) -> None:
    browser = signed_in(service, new_person(service, Plan.NONE, tracked=("AAPL",)))

    assert "chart.png" not in browser.get("/watchlist").text


def test_without_a_night_the_list_can_still_be_shown(tmp_path: Path) -> None:
    with serving(tmp_path) as live:
        page = signed_in(live, new_person(live, tracked=("AAPL",))).get("/watchlist").text

    assert "no data yet" in lines(page)["AAPL"]


def test_a_failed_addition_keeps_what_was_typed(service: Service) -> None:
    browser = signed_in(service, new_person(service))

    answer = browser.submit(browser.form("/watchlist"), add='AAPL, "<b>NOPE')

    assert answer.status_code == 400
    assert 'name="add" value="AAPL, &#34;&lt;b&gt;NOPE"' in answer.text
    assert 'aria-invalid="true"' in answer.text


@pytest.mark.parametrize("text", ["aapl, MSFT", "AAPL MSFT", "AAPL;msft\n", "AAPL,,MSFT AAPL"])
def test_tickers_are_added_at_the_end_as_people_type_them(service: Service, text: str) -> None:
    account = new_person(service, tracked=("IBM",))
    browser = signed_in(service, account)

    answer = browser.submit(browser.form("/watchlist"), add=text)

    assert answer.headers["location"] == "/watchlist#list"
    assert tracked(service, account) == ["IBM", "AAPL", "MSFT"]


@pytest.mark.parametrize(
    ("button", "symbol", "after"),
    [
        ("up", "IBM", ["IBM", "AAPL", "MSFT"]),
        ("up", "AAPL", ["AAPL", "IBM", "MSFT"]),
        ("down", "AAPL", ["IBM", "AAPL", "MSFT"]),
        ("down", "MSFT", ["AAPL", "IBM", "MSFT"]),
        ("remove", "IBM", ["AAPL", "MSFT"]),
        ("remove", "GOOG", ["AAPL", "IBM", "MSFT"]),
        ("up", "GOOG", ["AAPL", "IBM", "MSFT"]),
    ],
)
def test_each_button_does_what_it_says(
    service: Service, button: str, symbol: str, after: list[str]
) -> None:
    account = new_person(service, tracked=("AAPL", "IBM", "MSFT"))
    browser = signed_in(service, account)

    answer = browser.submit(browser.form("/watchlist"), **{button: symbol})

    assert answer.status_code == 303
    moved = button != "remove" and symbol in after
    assert answer.headers["location"] == f"/watchlist#{symbol if moved else 'list'}"
    assert tracked(service, account) == after


@pytest.mark.parametrize(
    ("plan", "text", "words"),
    [
        (Plan.PREMIUM_PLUS, "NOPE", "does not know NOPE"),
        (Plan.PREMIUM_PLUS, "<b>", "letters, digits and dots"),
        (Plan.PREMIUM_PLUS, " , ", "Type one symbol"),
        (Plan.NONE, "AAPL", "Your plan tracks no tickers."),
    ],
)
def test_what_cannot_be_added_is_said_and_changes_nothing(
    service: Service, plan: Plan, text: str, words: str
) -> None:
    account = new_person(service, plan)
    browser = signed_in(service, account)

    answer = browser.submit(browser.form("/watchlist"), add=text)

    assert answer.status_code == 400
    assert words in answer.text
    assert "<b>" not in answer.text
    assert tracked(service, account) == []


def test_a_list_over_the_cap_can_still_be_ordered_and_shortened(service: Service) -> None:
    account = new_person(service, Plan.NONE, tracked=("AAPL", "IBM"))
    browser = signed_in(service, account)

    browser.submit(browser.form("/watchlist"), up="IBM")
    assert tracked(service, account) == ["IBM", "AAPL"]
    browser.submit(browser.form("/watchlist"), remove="AAPL")
    assert tracked(service, account) == ["IBM"]


@pytest.mark.parametrize("fields", [{"token": "0" * 64}, {"token": ""}])
def test_another_site_changes_no_list(service: Service, fields: dict[str, str]) -> None:
    account = new_person(service, tracked=("AAPL",))
    browser = signed_in(service, account)

    answer = browser.submit(browser.form("/watchlist"), remove="AAPL", **fields)

    assert answer.status_code == 403
    assert tracked(service, account) == ["AAPL"]


def test_the_list_of_the_page_is_the_list_of_the_api(service: Service) -> None:
    account = new_person(service, tracked=("AAPL",))
    browser = signed_in(service, account)
    _, secret = service.keys(lambda keys: keys.create(account.email, "api"))

    browser.submit(browser.form("/watchlist"), add="IBM")

    body = service.get("/tickers", key=secret).json()
    assert [ticker["symbol"] for ticker in body["tickers"]] == ["AAPL", "IBM"]
