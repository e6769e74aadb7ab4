"""Examples: past trades as small charts, picked by a rule, with wins and losses in their share."""

from __future__ import annotations

import datetime as dt
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from mcp_server.charts.past import trades_of
from store.nights.book import Book
from store.wire.examples import OF_FAMILY, OF_SYMBOL, at_even_steps
from store.wire.families import Family
from tests.books import Content
from tests.resealed import forget_lines, reseal
from tests.screener.web.browser import Browser
from tests.screener.web.people import new_person, signed_in
from tests.screener.web.tree import words
from tests.service import Service, serving

PICTURE = re.compile(r"/symbols/(\w+)/chart\.png\?trade=(\w+)&amp;theme=light&amp;width=320")


def drawable(book: Book, symbol: str) -> list[dict[str, Any]]:
    """The resolved trades of a symbol whose lines lie among its kept bars."""
    prices = book.kept_prices(symbol)
    if prices is None:
        return []
    first = dt.date(1970, 1, 1) + dt.timedelta(days=int(prices.date[0]))
    return [
        dict(row)
        for row in trades_of(book, symbol)
        if row["outcome"] != "open"
        and min(line["start"]["date"] for line in row["lines"].values()) >= f"{first}"
    ]


@pytest.mark.parametrize(("wins", "losses"), [(0, 40), (7, 93), (33, 1), (400, 600), (2, 3)])
@pytest.mark.parametrize("number", [6, 12])
def test_even_steps_have_wins_and_losses_in_their_share_and_the_whole_time(
    wins: int, losses: int, number: int
) -> None:
    trades = [("win", day) for day in range(wins)] + [("loss", day) for day in range(losses)]
    shown = at_even_steps(trades, number)

    assert len(set(shown)) == len(shown) == min(number, wins + losses)
    won = sum(outcome == "win" for outcome, _ in shown)
    assert abs(won - len(shown) * wins / (wins + losses)) < 1
    days = [day for outcome, day in shown if outcome == "loss"]
    if len(days) > 1:
        steps = [b - a for a, b in pairwise(days)]
        assert max(steps) - min(steps) <= 1


def test_a_symbol_shows_examples_of_all_its_trades_that_can_be_drawn(
    closed: Service, book: Book
) -> None:
    trades = drawable(book, "MSFT")
    wins = sum(row["outcome"] == "win" for row in trades)
    page = Browser(closed).get("/symbols/MSFT").text
    shown = [trade for _, trade in PICTURE.findall(page)]
    by_id = {row["lineage_id"]: row for row in trades}

    assert len(trades) > OF_SYMBOL == len(shown)
    won = sum(by_id[trade]["outcome"] == "win" for trade in shown)
    assert f"{OF_SYMBOL} of the {len(trades)} resolved trades with stored bars" in words(page)
    losses = [row["realized_move_pct"] for row in trades if row["outcome"] != "win"]
    so = (
        f"{won} of these {OF_SYMBOL} reached the target, as {wins} of the {len(trades)} did; "
        r"average loss (\S+)%\."
    )
    found = re.search(so, words(page))
    assert found is not None
    assert float(found[1]) == pytest.approx(sum(losses) / len(losses), abs=0.0051)
    for trade in shown:
        assert f"/symbols/MSFT/trades/{trade}" in page
        answer = Browser(closed).get(f"/symbols/MSFT/chart.png?trade={trade}&width=320")
        assert answer.headers["content-type"] == "image/png"


def test_a_family_shows_to_everybody_examples_of_the_trades_of_all_covered_symbols(
    closed: Service, book: Book
) -> None:
    """In the share of all trades that a night can draw, as counted from its histories."""
    stranger, pictures = Browser(closed), 0
    for family in Family:
        found = book.examples()[family]
        drawn = {
            row["lineage_id"]: row
            for symbol in book.symbols()
            for row in drawable(book, symbol)
            if row["family"] == family
        }
        page = stranger.get(f"/families/{family}").text
        shown = PICTURE.findall(page)
        assert len(shown) == min(OF_FAMILY, found["trades"])
        assert found["trades"] == len(drawn)
        assert found["wins"] == sum(row["outcome"] == "win" for row in drawn.values())
        won = sum(drawn[trade]["outcome"] == "win" for _, trade in shown)
        assert not shown or abs(won - len(shown) * found["wins"] / found["trades"]) < 1
        for symbol, trade in shown:
            picture = stranger.get(f"/symbols/{symbol}/chart.png?trade={trade}&width=320")
            assert picture.status_code == 200
            pictures += 1
    assert pictures > OF_FAMILY


def test_no_other_picture_of_a_past_trade_is_shown_to_who_does_not_track_the_ticker(
    closed: Service, book: Book
) -> None:
    shown = {row["lineage_id"] for found in book.examples().values() for row in found["shown"]}
    ids = [row["lineage_id"] for row in drawable(book, "AAPL")]
    example, other = (next(i for i in ids if (i in shown) is wanted) for wanted in (True, False))
    scanning = signed_in(closed, new_person(closed))

    for browser in (Browser(closed), scanning):
        assert browser.get(f"/symbols/AAPL/chart.png?trade={other}&width=320").status_code == 403
        assert browser.get(f"/symbols/AAPL/chart.png?trade={example}").status_code == 403
        assert browser.get(f"/symbols/AAPL/chart.png?trade={example}&width=320").status_code == 200
    assert "Past trades to look at" not in scanning.get("/symbols/AAPL").text


def test_a_night_that_was_sealed_before_shows_no_examples(data_dir: Path) -> None:
    def forget(content: Content) -> None:
        del content.meta["examples"]
        forget_lines(content)

    reseal(data_dir, forget)
    with serving(data_dir, open_pages=True) as live:
        for path in ("/symbols/MSFT", "/families/triangle"):
            answer = Browser(live).get(path)
            assert answer.status_code == 200
            assert "Past trades to look at" not in answer.text
