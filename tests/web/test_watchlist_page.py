"""The page of the Main watchlist."""

from __future__ import annotations

import html
import re
from contextlib import closing

from store.accounts.accounts import AccountPlan
from store.wire.words import place_words, state_words
from tests.contract.market import active_book
from tests.service import Service
from tests.web.people import new_person, signed_in, tracked_by
from tests.web.tree import words


def lines(page: str) -> dict[str, str]:
    """What the list says of each ticker, in words."""
    rows = re.findall(r'<tr role="row" id="([^"]+)"[^>]*>(.*?)</tr>', page, re.DOTALL)
    return {symbol: words(row) for symbol, row in rows}


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
    browser = signed_in(service, new_person(service, AccountPlan.NONE, tracked=("AAPL",)))

    assert "chart.png" not in browser.get("/watchlist").text


def test_tickers_are_added_at_the_end_as_people_type_them(service: Service) -> None:
    for text in ("aapl, MSFT", "AAPL MSFT", "AAPL;msft\n", "AAPL,,MSFT AAPL"):
        account = new_person(service, tracked=("IBM",))
        browser = signed_in(service, account)

        answer = browser.submit(browser.form("/watchlist"), add=text)

        assert answer.headers["location"] == "/watchlist#list", text
        assert tracked_by(service, account) == ["IBM", "AAPL", "MSFT"]


def test_each_button_does_what_it_says_on_a_list_over_the_cap_too(service: Service) -> None:
    account = new_person(service, AccountPlan.NONE, tracked=("AAPL", "IBM", "MSFT"))
    browser = signed_in(service, account)
    form = browser.form("/watchlist")

    for button, symbol, after in (
        ("up", "AAPL", ["AAPL", "IBM", "MSFT"]),
        ("up", "GOOG", ["AAPL", "IBM", "MSFT"]),
        ("down", "MSFT", ["AAPL", "IBM", "MSFT"]),
        ("up", "IBM", ["IBM", "AAPL", "MSFT"]),
        ("down", "AAPL", ["IBM", "MSFT", "AAPL"]),
        ("remove", "GOOG", ["IBM", "MSFT", "AAPL"]),
        ("remove", "MSFT", ["IBM", "AAPL"]),
    ):
        answer = browser.submit(form, **{button: symbol})

        moved = button != "remove" and symbol in after
        assert answer.status_code == 303
        assert answer.headers["location"] == f"/watchlist#{symbol if moved else 'list'}"
        assert tracked_by(service, account) == after, (button, symbol)


def test_what_cannot_be_added_is_said_stays_as_typed_and_changes_nothing(service: Service) -> None:
    for plan, text, said in (
        (AccountPlan.PREMIUM_PLUS, "NOPE", "does not know NOPE"),
        (AccountPlan.PREMIUM_PLUS, 'AAPL, "<b>NOPE', "letters, digits and dots"),
        (AccountPlan.PREMIUM_PLUS, " , ", "Type one symbol"),
        (AccountPlan.NONE, "AAPL", "Your plan tracks no tickers."),
    ):
        account = new_person(service, plan)
        browser = signed_in(service, account)

        answer = browser.submit(browser.form("/watchlist"), add=text)

        assert answer.status_code == 400, text
        assert said in answer.text
        shown = html.escape(text).replace("&quot;", "&#34;")
        assert f'name="add" value="{shown}"' in answer.text
        assert 'aria-invalid="true"' in answer.text
        assert "<b>" not in answer.text
        assert tracked_by(service, account) == []
