"""The charts of setups as pages load them: who may see which look, and how many at once."""

from __future__ import annotations

import io
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from PIL import Image

from store.accounts.accounts import AccountPlan
from store.nights.book import Book
from tests.screener.web.browser import Browser
from tests.screener.web.people import new_person, signed_in
from tests.service import Service, serving

MANY = 50


@pytest.fixture
def setups(book: Book) -> dict[str, str]:
    """The id of a setup of each symbol."""
    return {view.symbol: view.setup_id for view in book.scan.rows}


def chart(symbol: str, setup_id: str, kind: str = "png", **look: str) -> str:
    """The address of a chart."""
    return str(httpx.URL(f"/symbols/{symbol}/chart.{kind}", params={"setup_id": setup_id, **look}))


def test_everybody_may_see_a_demo_symbols_chart_in_every_look(
    closed: Service, setups: dict[str, str]
) -> None:
    browser = Browser(closed)

    for theme in ("light", "dark"):
        for width in (320, 720, 1200):
            answer = browser.get(chart("MSFT", setups["MSFT"], theme=theme, width=str(width)))
            assert answer.status_code == 200
            assert answer.headers["content-type"] == "image/png"
            assert answer.headers["cache-control"] == "public, max-age=3600"
            assert Image.open(io.BytesIO(answer.content)).format == "PNG"


def test_who_tracks_a_ticker_sees_its_charts_and_who_may_scan_its_thumbnail(
    closed: Service, setups: dict[str, str]
) -> None:
    """A chart of an account is kept by its browser alone, and shown by no page of another site."""
    tracking = signed_in(closed, new_person(closed, tracked=("AAPL",)))
    scanning = signed_in(closed, new_person(closed))
    thumbnail, large = (chart("AAPL", setups["AAPL"], width=width) for width in ("320", "1200"))
    data = chart("AAPL", setups["AAPL"], "json")
    first = tracking.get(large)
    again = tracking.get(large, headers={"If-None-Match": first.headers["etag"]})

    assert [tracking.get(path).status_code for path in (thumbnail, large, data)] == [200, 200, 200]
    assert [scanning.get(path).status_code for path in (thumbnail, large, data)] == [200, 403, 403]
    assert "Track this ticker" in scanning.get(large).text
    assert tracking.get(data).json()["symbol"] == "AAPL"
    for kind in ("png", "json"):
        assert scanning.get(chart("MSFT", setups["AAPL"], kind)).status_code == 404
    assert first.headers["cache-control"] == "private, max-age=3600"
    assert "Cookie" in first.headers["vary"]
    assert first.headers["cross-origin-resource-policy"] == "same-origin"
    assert (again.status_code, again.content) == (304, b"")


def test_strangers_and_accounts_without_a_plan_see_none_of_them(
    closed: Service, setups: dict[str, str]
) -> None:
    planless = signed_in(closed, new_person(closed, AccountPlan.NONE, tracked=("AAPL",)))
    thumbnail, large = (chart("AAPL", setups["AAPL"], width=width) for width in ("320", "1200"))

    for browser, said in ((Browser(closed), "Sign in"), (planless, "Your plan")):
        for path in (thumbnail, large, chart("AAPL", setups["AAPL"], "json")):
            answer = browser.get(path)
            assert answer.status_code == 403
            assert answer.text.startswith(said)
            assert answer.headers["content-type"].startswith("text/plain")
            assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    ("symbol", "query", "status"),
    [
        *(("MSFT", f"setup_id={{}}&theme={theme}", 400) for theme in ("red", "light%00")),
        *(("MSFT", f"setup_id={{}}&width={width}", 400) for width in ("", "1201", "0320")),
        *(("MSFT", f"trade={trade}", 404) for trade in ("", "..%2F..%2Fsecret")),
        *(("MSFT", f"setup_id={one}", 404) for one in ("", "..%2F..%2Fsecret", "%00", "x" * 5000)),
        *((symbol, "setup_id={}", 404) for symbol in ("%3Cb%3E", "..", "M" * 25)),
    ],
)
def test_what_no_page_asks_for_is_refused_in_one_line(
    closed: Service, setups: dict[str, str], symbol: str, query: str, status: int
) -> None:
    answer = Browser(closed).get(
        f"{closed.url}/symbols/{symbol}/chart.png?{query.format(setups['MSFT'])}"
    )

    assert answer.status_code == status
    assert len(answer.text) < 200
    assert "<b>" not in answer.text


def test_fifty_thumbnails_that_a_page_asks_for_at_once_all_come(market: Service) -> None:
    rows = market.get("/scan", params={"status": "all", "limit": 50}).json()["setups"]
    addresses = [chart(row["symbol"], row["setup_id"], width="320") for row in rows]

    with ThreadPoolExecutor(50) as readers:
        answers = list(readers.map(Browser(market).get, addresses))

    assert [answer.status_code for answer in answers] == [200] * 50


def test_pictures_are_counted_apart_from_pages_and_four_times_as_many_and_open_on_a_private_machine(
    data_dir: Path, setups: dict[str, str]
) -> None:
    options: dict[str, Any] = {"demo_symbols": ("MSFT",), "open_pages": True}
    with serving(data_dir, other_per_minute=5, **options) as live:
        browser = Browser(live)
        seen = [chart("aapl", setups["AAPL"], kind) for kind in ("png", "json")]
        seen += [chart("MSFT", setups["MSFT"], width="320")] * 19
        statuses = [browser.get(path).status_code for path in seen]
        refused = browser.get(chart("MSFT", setups["MSFT"], "json"))

        assert statuses == [200] * 20 + [429]
        assert refused.status_code == 429
        assert 0 < int(refused.headers["retry-after"]) <= 60
        assert browser.get("/").status_code == 200
