"""Pages, commands, sheets and charts say the same of one setup, also of a running trade."""

from __future__ import annotations

import csv
import html
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from mcp_server.operations.charts import chart_view
from store.book import Book, StoredSetup
from store.setup_words import age_words, pattern_words
from tests.contract.market import active_book
from tests.screener.command import run
from tests.service import Service, copy_night, serving
from tests.web.browser import Browser
from tests.web.market import make_market
from tests.web.people import new_person, signed_in
from web.figures import MINUS, dollars


class Said(NamedTuple):
    """What a surface says of a setup's levels."""

    start: str
    """`entry` or `trigger`."""
    price: str
    stop: str
    """Percent from the start."""
    target: str
    ratio: str


@pytest.fixture(params=["sample", "market"], scope="module")
def live(
    request: pytest.FixtureRequest, night: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    """The sample night, in which trades are running, and a market made of it."""
    folder = tmp_path_factory.mktemp(request.param)
    copy_night(night, folder)
    if request.param == "market":
        make_market(folder)
    with serving(folder, open_pages=True) as service:
        yield service


@pytest.fixture
def book(live: Service) -> Iterator[Book]:
    """The book of the night that is served."""
    opened = active_book(live.settings.data_dir)
    yield opened
    opened.close()


def words(page: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def scanned(live: Service) -> list[dict[str, Any]]:
    rows = live.get("/scan", params={"status": "all", "limit": 200}).json()["setups"]
    assert {row["status"] for row in rows} == {"forming", "in_progress"}
    return list(rows)


def stored(book: Book, row: dict[str, Any]) -> StoredSetup:
    setup = book.setup(row["symbol"], row["setup_id"])
    assert setup is not None
    return setup


def expected(book: Book, row: dict[str, Any]) -> Said:
    """What is to be said, worked out here."""
    plan, running = row["plans"][0], row["status"] == "in_progress"
    entry = stored(book, row).evidence["entry_price"] if running else plan["trigger_price"]
    stop, target = plan["stop_price"], plan["target_price"]
    return Said(
        "entry" if running else "trigger",
        dollars(entry),
        f"{100 * (stop / entry - 1):+.1f}",
        f"{100 * (target / entry - 1):+.1f}",
        f"{abs(target - entry) / abs(entry - stop):.1f}",
    )


def on_screen(live: Service) -> dict[int, Said]:
    """The plans on the screen, by rank."""
    page = words(Browser(live).get("/screen?status=all&limit=200").text).replace(MINUS, "-")
    found = re.findall(
        r"rank (\d+) .*?(Entry|Trigger) (\$\S+) Stop \S+ (\S+)% Target \S+ (\S+)% (\S+) ", page
    )
    return {int(rank): Said(start.lower(), *said) for rank, start, *said in found}


def test_the_screen_the_sheet_and_the_charts_count_from_the_same_price(
    live: Service, book: Book
) -> None:
    rows = scanned(live)
    shown = on_screen(live)
    printed = run(live.settings.data_dir, "scan", "--status", "all", "--limit", "200", "--csv")
    sheet = {int(line["rank"]): line for line in csv.DictReader(io.StringIO(printed.stdout))}

    assert set(shown) == set(sheet) == {row["rank"] for row in rows}
    for row in rows:
        said, line = expected(book, row), sheet[row["rank"]]
        prices = book.prices(row["symbol"])
        assert prices is not None
        levels = chart_view(book, stored(book, row), prices).levels

        assert shown[row["rank"]] == said
        start = float(line["entry_price"] or line["trigger_price"])
        assert (levels.start_name, dollars(levels.start)) == said[:2]
        assert f"{levels.stop_pct:+.1f}" == said.stop
        assert f"{levels.target_pct:+.1f}" == said.target
        assert f"{levels.reward_to_risk:.1f}" == said.ratio
        assert start == levels.start
        assert float(line["stop_pct"]) == pytest.approx(levels.stop_pct, abs=0.0051)
        assert float(line["target_pct"]) == pytest.approx(levels.target_pct, abs=0.0051)
        assert float(line["reward_to_risk"]) == pytest.approx(levels.reward_to_risk, abs=0.00051)


def test_a_symbols_page_and_command_say_what_the_screen_says(night: Path, service: Service) -> None:
    book = active_book(night)
    member = signed_in(service, new_person(service, tracked=("AAPL", "GOOG", "IBM", "MSFT")))
    watchlist = words(member.get("/watchlist").text)
    for row in scanned(service):
        said, symbol = expected(book, row), row["symbol"]
        page = words(Browser(service).get(f"/symbols/{symbol}").text).replace(MINUS, "-")
        printed = " ".join(run(night, "show", symbol).stdout.split())
        pattern, distance = pattern_words(row), f"{row['distance_to_trigger_pct']:.1f}%"
        state = ", ".join(filter(None, (words_of(row), age_words(row["sessions_since_trigger"]))))

        assert re.search(
            rf"{said.start.capitalize()} {re.escape(said.price)} (last close \S+ )?"
            rf"Stop \S+ {re.escape(said.stop)}% Target \S+ {re.escape(said.target)}% "
            rf"Reward to risk {re.escape(said.ratio)} ",
            page,
        )
        assert f"{row['direction']} from the {said.start}, {said.price}: stop" in printed
        assert f"({said.stop}%), target" in printed
        assert f"({said.target}%); reward to risk {said.ratio}" in printed
        assert f"{pattern} {row['direction']} {words_of(row)}" in page
        assert f"{pattern}, {row['direction']}, {words_of(row)} (setup" in printed
        assert f"{pattern} {row['direction']}, {state}" in watchlist
        if row["status"] == "in_progress":
            assert f"{distance} from the entry" in watchlist
            assert distance not in page
        else:
            assert f"{distance} {row['last_close_side']} the trigger" in watchlist
            assert f"{distance} {row['last_close_side']} the trigger" in page
    book.close()


def words_of(row: dict[str, Any]) -> str:
    return {"forming": "forming", "in_progress": "in progress"}[row["status"]]


def test_forming_setups_are_sorted_by_the_ratio_that_they_show(live: Service) -> None:
    page = Browser(live).get("/screen?sort=-min_rr&limit=200").text
    ratios = [float(ratio) for ratio in re.findall(r'class="number ratio"[^>]*>([\d.]+)<', page)]

    assert len(ratios) > 1
    assert ratios == sorted(ratios, reverse=True)
