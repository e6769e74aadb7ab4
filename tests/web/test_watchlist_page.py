"""The page of the Main watchlist."""

from __future__ import annotations

import re

import pytest

from store.accounts import Account, Plan
from store.watchlist import Watchlist
from tests.service import Service, on_database
from tests.web.people import new_person, signed_in


def tracked(service: Service, account: Account) -> list[str]:
    return on_database(service, lambda database: Watchlist(database).symbols(account.id))


def test_the_list_stands_in_the_users_order_with_what_is_covered(service: Service) -> None:
    browser = signed_in(service, new_person(service, tracked=("MSFT", "GONE", "AAPL")))

    page = browser.get("/watchlist").text

    assert re.findall(r'<li id="([^"]+)"', page) == ["MSFT", "GONE", "AAPL"]
    assert page.count(">covered<") == 2
    assert page.count(">no data yet<") == 1
    assert "3 of 200" in page


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
        (Plan.NONE, "AAPL", "your plan tracks 0"),
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
