"""The home, usage and documentation pages, and public pages as Markdown."""

from __future__ import annotations

import datetime as dt
import html
import re
from pathlib import Path

import pytest

from screener.web.site.pages import environment, plain
from store.accounts.accounts import utc_now
from store.accounts.keys import Principal
from store.accounts.usage import UsageLog
from store.database.database import Database
from tests.screener.web.browser import Browser
from tests.screener.web.people import new_member
from tests.service import Service, copy_night, on_database, serving


def test_home_shows_the_demo_charts_with_their_records_and_implies_no_edge(
    service: Service,
) -> None:
    browser = Browser(service)
    page = browser.get("/").text
    charts = [
        html.unescape(source) for source in re.findall(r'<img class="chart" src="([^"]+)"', page)
    ]

    assert charts
    for chart in charts:
        assert browser.get(chart).headers["content-type"] == "image/png"
    setup = service.get("/demo/AAPL", key="").json()["setups"][0]
    assert html.escape(setup["track_record"]["family"]["summary"]) in page
    markdown = browser.get("/", headers={"Accept": "text/markdown"}).text
    assert setup["track_record"]["family"]["summary"] in markdown
    assert "No edge is implied" in page
    assert "No edge is implied" in markdown
    pictures = re.findall(r"<img [^>]+>", page)
    assert len(pictures) > len(charts)
    assert all(re.search(r'alt="[^"]', picture) for picture in pictures)


def test_home_shows_a_record_where_no_demo_symbol_has_a_setup(
    product_night: Path, tmp_path: Path
) -> None:
    copy_night(product_night, tmp_path)
    with serving(tmp_path, demo_symbols=("FB", "NVDA")) as live:
        texts = [
            Browser(live).get("/", headers={"Accept": accept}).text
            for accept in ("text/html", "text/markdown")
        ]
        families = live.get("/families", key="").json()["families"]
    records = [family["track_record"] for family in families if family["track_record"]]

    for text in texts:
        assert "None of the 2 demo symbols has a setup in th" in text
        assert max(records, key=lambda record: record["sample_size"])["summary"] in text


def test_usage_holds_todays_calls_against_the_limits(service: Service) -> None:
    account, browser = new_member(service)
    without = browser.get("/usage").text
    key, _ = service.keys(lambda keys: keys.create(account.email, "my <key>"))
    gone, _ = service.keys(lambda keys: keys.create(account.email, "gone"))
    service.keys(lambda keys: keys.revoke(gone.prefix))
    today = utc_now()

    async def use(database: Database) -> None:
        for moment, calls in ((today, 1234), (today - dt.timedelta(days=1), 7777)):
            log = UsageLog(database, clock=moment.timestamp)
            for _ in range(calls):
                log.record(Principal(account, key), "scan", "agent/1")
            await log.flush()

    on_database(service, use)
    page = browser.get("/usage").text

    assert "You have no key" in without
    assert "1,234" in page
    assert "10,000 times a day" in page
    assert 'value="1234"' in page
    assert "my &lt;key&gt;" in page
    assert "gone" not in page
    assert "7,777" not in page
    assert ">7777<" not in page
    assert "<code>scan</code>" in page


def test_every_template_is_compiled_by_the_start_and_by_no_visitor(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def compiled_late(*_: object, **__: object) -> None:
        raise AssertionError("a visitor waits for this")

    environment.cache_clear()
    with serving(data_dir):
        pass  # its end waits for what its start began
    monkeypatch.setattr(environment(), "compile", compiled_late)
    with serving(data_dir, email="second@example.com", open_pages=True) as live:
        browser = Browser(live)
        for path in ("/", "/screen", "/symbols", "/symbols/AAPL", "/families", "/status", "/docs"):
            assert browser.get(path).status_code == 200


@pytest.mark.parametrize(
    ("path", "age"),
    [
        ("/docs", "public, max-age=3600"),
        ("/connect", "public, max-age=3600"),
        # A night may be withdrawn, so what shows one is asked for again each time.
        ("/method", "public, no-cache"),
        ("/", "no-store"),
    ],
)
def test_a_copy_in_markdown_is_not_taken_for_one_in_html(
    service: Service, path: str, age: str
) -> None:
    browser = Browser(service)
    markdown = browser.get(path, headers={"Accept": "text/markdown"})
    headers = {"If-None-Match": markdown.headers["etag"]}

    assert markdown.headers["cache-control"] == age
    same = browser.get(path, headers={**headers, "Accept": "text/markdown"})
    assert same.status_code == 304
    assert "Accept" in same.headers["vary"].replace("Accept-Encoding", "")
    page = browser.get(path, headers={**headers, "Accept": "text/html, */*;q=0.8"})
    assert page.status_code == 200


def test_a_foreign_name_means_nothing_in_markdown() -> None:
    assert plain("a\u202eb\x1bc").isprintable()
    assert plain("[a](b)\n# *c* | `d`") == r"\[a\](b) \# \*c\* \| \`d\`"
