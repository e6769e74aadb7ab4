"""The screen of a night whose prices are in another currency than dollars."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.screener.market import nightly, write_market
from tests.screener.web.people import new_person, signed_in
from tests.screener.web.tree import words
from tests.service import Service, serving

IN_DOLLARS = "Filters in $ count US dollars; setups in another currency never match them."


@pytest.fixture(scope="module")
def rupees(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service on a night in rupees."""
    folder = tmp_path_factory.mktemp("rupees")
    bars = write_market(folder / "market", 4)
    nightly(folder / "data", bars, "--currency", "INR")
    with serving(folder / "data") as service:
        yield service


def screen(service: Service, **parameters: str) -> str:
    browser = signed_in(service, new_person(service))
    return words(browser.get("/screen", params=parameters).text)


def test_prices_are_in_the_currency_of_the_night_and_nothing_says_dollars(rupees: Service) -> None:
    page = screen(rupees, status="all")

    assert "₹" in page
    assert "Prices are in the currency shown with them." in page
    assert "in dollars" not in page


def test_a_filter_in_dollars_that_nothing_matches_says_why(rupees: Service) -> None:
    market_cap = '[{"kind":"market_cap","op":">=","value":10000000000}]'

    page = screen(rupees, status="all", filters=market_cap)

    assert "No setup matches." in page
    assert IN_DOLLARS in page
