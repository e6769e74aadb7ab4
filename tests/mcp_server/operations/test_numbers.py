"""Numbers of the scan that a reader could take for something else are told, and old nights too."""

from __future__ import annotations

import datetime as dt
import json
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from mcp_server.filters.doubts import doubt
from mcp_server.filters.filters import read_filters
from mcp_server.operations.arguments import HistoryArguments, ScanArguments
from mcp_server.operations.handlers.patterns import history_body
from mcp_server.operations.handlers.scan import NONE_TRACKED, of_crypto, scan_body
from store.accounts.accounts import utc_now
from store.nights.book import Book
from store.nights.feature_table import Labels
from store.wire.view import PlanView
from tests.agent import call, connected, texts
from tests.contract.market import active_book
from tests.contract.views import asked_for
from tests.service import Service, new_key, serving


def doubted(kind: str, op: str, value: float, **more: Any) -> str:
    (predicate,) = read_filters([{"kind": kind, "op": op, "value": value, **more}])
    return doubt(predicate)


@pytest.mark.parametrize(
    ("predicate", "words"),
    [
        (("win_rate", ">", 0.4), "0.4 means 0.4%, not 40%"),
        (("rsi", "<", 0.3), "goes from 0 to 100: 0.3 means 0.3, not 30"),
        (("volume_percentile", ">", 180), "goes from 0 to 100"),
        (("market_cap", ">", 2), "counts single dollars: 2."),
        (("avg_volume", ">=", 1.5), "counts single shares: 1.5."),
        (("min_rr", "<", -2), "never below 0, so min_rr < -2 matches none"),
        (("adr", ">", -1), "never below 0, so adr > -1 matches every setup"),
    ],
)
def test_a_number_that_probably_means_another_is_told(
    predicate: tuple[str, str, float], words: str
) -> None:
    assert words in doubted(*predicate)


@pytest.mark.parametrize(
    "predicate",
    [
        *(("win_rate", ">", 40), ("market_cap", ">", 2e9), ("daily_change", "<", -5)),
        *(("min_expected_r", ">", 0.2), ("volume_ratio", ">", 0.5), ("price", "<", 0.5)),
        *(("rsi", "<", 0), ("min_rr", ">", 2)),
    ],
)
def test_a_usual_number_is_not(predicate: tuple[str, str, float]) -> None:
    assert doubted(*predicate) == ""


def test_extremes_are_counted_without_a_sign() -> None:
    assert "never below 0" in doubted("distance_from_high", ">", -5, period=252)


@pytest.mark.parametrize(
    ("direction", "stop", "target", "close", "left"),
    [
        ("bullish", 90, 120, 100, 2.0),
        ("bullish", 90, 120, 118, 0.07),
        ("bullish", 90, 120, 90, None),
        ("bullish", 90, 120, 92.5, None),
        ("bullish", 90, 120, 92.6, 10.54),
        ("bearish", 110, 80, 108, None),
        ("bearish", 110, 80, 100, 2.0),
        ("bearish", 110, 80, 75, -0.14),
    ],
)
def test_what_is_left_of_reward_to_risk_counts_from_the_last_close(
    direction: Any, stop: float, target: float, close: float, left: float | None
) -> None:
    assert PlanView(direction, 100, stop, target, 100).left(close) == left


async def test_rows_show_what_their_numbers_are_of(service: Service) -> None:
    found = await asked_for(service, status="all")

    for row in found["setups"]:
        assert row["target_move_pct"] > 0
        assert row["distance_to_trigger_pct"] >= 0
        assert {"expected_r_scope", "expected_r_trades", "placebo_avg_r"} <= row.keys()
        assert row["placebo_scope"] == "family"
        assert ("reward_to_risk_left" in row) is (row["status"] == "in_progress")
        if row["family"] == "triangle":
            assert f"({row['direction']})" in row["record_summary"]
    answer = service.get("/scan?status=all&sort=-reward_to_risk").json()
    rest = answer["setups"]
    assert "within 0.25 R of their stop have none and stand last" in " ".join(answer["notes"])
    ratios = {row["setup_id"]: row for row in found["setups"]}
    shown = [ratios[row["setup_id"]] for row in rest]
    order = [row.get("reward_to_risk_left", row["reward_to_risk"]) for row in shown]
    known = [each for each in order if each is not None]
    assert known == sorted(known, reverse=True)


def told(service: Service, **asked: Any) -> str:
    """The notes of a scan over REST."""
    return " ".join(service.get("/scan", params=asked).json()["notes"])


async def test_open_trades_among_the_rows_are_counted(service: Service) -> None:
    words = "of these {} rows. Their trigger has fired"
    near = '[{"kind":"dist_to_entry","op":"<","value":99}]'
    for one in ({"status": "all"}, {"status": "in_progress", "filters": near}):
        found = (await asked_for(service, **one))["setups"]
        running = sum(row["status"] == "in_progress" for row in found)
        note = f"Open trades (in_progress): {running} {words.format(len(found))}"

        assert running
        assert note in told(service, **one)
        assert note in " ".join((await asked_for(service, **one))["notes"])
    assert "Open trades (in_progress)" not in told(service)
    assert "Open trades (in_progress)" not in told(service, status="in_progress")


async def test_a_least_sample_counts_the_trades_that_rows_show(service: Service) -> None:
    found = (await asked_for(service, status="all"))["setups"]
    trades = sorted({row["win_rate_trades"] for row in found})

    assert len(trades) > 1
    for least in trades:
        answer = await asked_for(service, status="all", min_sample=least)
        kept = [row["win_rate_trades"] for row in answer["setups"]]

        assert kept == [row["win_rate_trades"] for row in found if row["win_rate_trades"] >= least]
        assert "min_sample counts win_rate_trades" in " ".join(answer["notes"])


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"filters": '[{"kind":"asset_type","value":"crypto"}]'}, "This night covers no crypto."),
        (
            {"filters": '[{"kind":"exchange","value":"XNSE"}]'},
            "This night covers no symbol whose exchange is XNSE.",
        ),
        ({"symbols": "BTCUSD"}, "This night covers 5 stocks, no ETFs and no crypto."),
    ],
)
async def test_an_empty_answer_names_the_market_that_the_night_does_not_cover(
    service: Service, asked: dict[str, Any], words: str
) -> None:
    assert words in told(service, **asked)
    assert words in (await asked_for(service, **asked))["notes"]


def test_a_covered_market_without_a_match_is_not_called_uncovered(service: Service) -> None:
    filters = '[{"kind":"asset_type","value":"stock"},{"kind":"price","op":">","value":1000000000}]'

    assert "This night covers" not in told(service, filters=filters)


def test_a_night_without_setups_says_so() -> None:
    with closing(Book.empty("test", "Not advice.")) as book:
        assert json.loads(scan_body(book, ScanArguments()))["notes"] == ["There is no night yet."]
        book.session = dt.date(2026, 8, 3)
        notes = json.loads(scan_body(book, ScanArguments()))["notes"]
    assert notes == ["This night covers 0 symbols and found no setup."]


async def test_lists_take_symbols_the_tracked_ones_and_a_least_sample(service: Service) -> None:
    dear = [{"kind": "price", "op": ">", "value": 1e9}]
    named = await asked_for(service, status="all", symbols="AAPL, XXXX")
    many = await asked_for(service, status="all", min_sample=10_000)
    none = await asked_for(service, status="all", filters=dear)
    await asked_for(service, "get_changes", tracked=True, symbols=["AAPL"])

    assert {row["symbol"] for row in named["setups"]} == {"AAPL"}
    assert "The night does not cover XXXX." in named["notes"]
    assert many["count"] == 0
    assert "price > 1000000000 keeps 0" in " ".join(none["notes"])
    assert service.get("/scan?status=all&symbols=AAPL").json()["count"] == named["count"]


@pytest.mark.parametrize("tool", ["scan_setups", "get_changes"])
async def test_a_symbol_that_is_not_covered_is_told_with_the_one_that_may_be_meant(
    service: Service, tool: str
) -> None:
    found = await asked_for(service, tool, symbols=["NYSE:AAPL", "$MSFT", "ZZZZZZ"])
    told = " ".join(found["notes"])

    assert "does not cover NYSE:AAPL, $MSFT, ZZZZZZ" in told
    assert "may be meant: AAPL for NYSE:AAPL, MSFT for $MSFT." in told


async def test_an_empty_answer_tells_what_emptied_it(service: Service) -> None:
    nowhere = [{"kind": "price", "op": "<", "value": 0}]
    untracked = await asked_for(service, tracked=True, symbols=["XXXX"], status="all")
    far = await asked_for(service, max_distance_pct=5, status="all", filters=nowhere)
    forming = await asked_for(service, filters=[{"kind": "gain", "op": ">", "value": 0}])

    assert NONE_TRACKED in untracked["notes"]
    assert "tracked keeps 0." in " ".join(untracked["notes"])
    assert "max_distance_pct 5 (which filters no open trade) keeps" in " ".join(far["notes"])
    assert (
        "Without the condition gain 2 setups would match; none has a value for it."
        in (forming["notes"])
    )
    assert "Without the condition" not in " ".join(far["notes"])


async def test_what_an_account_tracks_is_read_for_each_anew(service: Service) -> None:
    for tracked in (("AAPL",), ("MSFT", "GOOG")):
        key = new_key(service.settings, f"{tracked[0]}@example.com", tracked=tracked)
        async with connected(service.extended_url, key) as client:
            answers = [
                (await call(client, "scan_setups", status="all", tracked="true")).structured_content
                for _ in range(2)
            ]
        rest = service.get("/scan?status=all&tracked=true", key=key).json()

        for answer in (*answers, rest):
            assert {row["symbol"] for row in (answer or {})["setups"]} == {*tracked}


async def test_a_night_is_old_from_the_day_after_its_next_session(data_dir: Path) -> None:
    """The sample's next session is 2012-10-04."""
    day, answers = dt.datetime(2012, 10, 4, 23, 59, tzinfo=dt.UTC), []
    for email, clock in (("before@example.com", lambda: day), ("after@example.com", utc_now)):
        with serving(data_dir, email=email, clock=clock) as service:
            async with connected(f"{service.mcp_url}/demo") as client:
                said = texts(await call(client, "demo", symbol="AAPL"))
            answers.append((service.get("/families"), said))
    (fresh, plain), (old, told) = answers

    assert (fresh.json()["is_current"], old.json()["is_current"]) == (True, False)
    assert fresh.headers["etag"] != old.headers["etag"]
    assert "This night is old" not in " ".join(plain)
    assert told[-1] == (
        "This night is old: it is of 2012-10-03, and at least 252 sessions have ended since, by "
        "the trading calendars of its symbols. Say so when you use it."
    )


@pytest.mark.proves("HIST-ids")
def test_the_id_of_a_past_trade_points_to_its_page(service: Service) -> None:
    history = service.get("/tickers/AAPL/history").json()["occurrences"]
    trade = next(row for row in history if row["outcome"] != "open")
    for setup_id in filter(None, (trade["setup_id"], trade["lineage_id"])):
        refused = service.get("/tickers/AAPL/chart.png", params={"setup_id": setup_id})

        assert (refused.status_code, refused.json()["error"]) == (404, "setup_not_found")
        assert refused.json()["fix"].endswith(f"/symbols/AAPL/trades/{trade['lineage_id']}")


async def test_a_scan_tells_what_it_cannot_know_and_what_it_leaves_out(service: Service) -> None:
    """The first night has none before it, and an old open trade is only in the history."""
    new = '[{"kind":"new","value":true}]'
    for status in ("forming", "all"):
        assert "It is not known which setups are new" in told(service, status=status, filters=new)
    assert "It is not known" not in told(service)
    for status in ("in_progress", "all"):
        assert "the history of a ticker has them" in told(service, status=status)
    assert "the history of a ticker has them" not in told(service)


@pytest.mark.parametrize(
    ("sort", "words"),
    [
        ("target", "Open trades are ordered by the planned distance from their entry"),
        ("-stop", "Open trades are ordered by the planned distance from their entry"),
        ("trigger", "Open trades are ordered by entry_price"),
    ],
)
def test_an_order_whose_numbers_are_others_of_open_trades_is_told(
    service: Service, sort: str, words: str
) -> None:
    assert words in told(service, status="in_progress", sort=sort)
    assert words not in told(service, status="forming", sort=sort)


@pytest.mark.parametrize(("next_day", "is_told"), [(17, True), (15, False), (None, False)])
def test_a_trigger_of_crypto_is_of_the_day_after_the_session(
    next_day: int | None, is_told: bool
) -> None:
    friday = dt.date(2026, 8, 14)
    later = next_day and friday.replace(day=next_day)
    types = Labels({"stock": 0, "crypto": 1}, np.array([0, 1, 1], np.int16))
    night = SimpleNamespace(
        session=friday, next_session=later, features=SimpleNamespace(labels={"asset_type": types})
    )
    views = [
        SimpleNamespace(symbol=symbol, status=status, rank=rank)
        for rank, (symbol, status) in enumerate(
            (("AAPL", "forming"), ("BTCUSD", "forming"), ("ETHUSD", "in_progress")), 1
        )
    ]

    notes = list(of_crypto(cast("Book", night), cast("Any", views)))

    of_day = "the trigger of BTCUSD is the level of 2026-08-15, not of 2026-08-17."
    assert [of_day in note for note in notes] == [True] * is_told


def test_past_prices_that_are_adjusted_for_dividends_are_told(night: Path) -> None:
    words = "Prices of 7 symbols here are adjusted for dividends too"
    history, running = HistoryArguments(symbol="AAPL"), ScanArguments(status="in_progress")
    with closing(active_book(night)) as book:
        plain = [history_body(book, history), scan_body(book, running)]
        book.dividend_adjusted = 7
        told = [history_body(book, history), scan_body(book, running)]
        forming = scan_body(book, ScanArguments())

    assert [words in body.decode() for body in plain] == [False, False]
    assert [words in body.decode() for body in told] == [True, True]
    assert words not in forming.decode()


def test_a_setup_is_armed_within_the_atr_that_filters_compare(product_night: Path) -> None:
    """AAPL is farther from its trigger than this, and nearer than its ATR of log prices."""
    with closing(active_book(product_night)) as book:
        numbers, labels = book.features.numbers, book.features.labels
        near = numbers["dist_to_entry"] <= np.fmax(numbers["atr"], 1.0)
        forming = labels["status"].equal("forming")
        armed = labels["phase"].equal("armed")

        assert forming.any()
        assert np.array_equal(armed[forming], near[forming])


def test_an_order_tells_how_many_rows_it_has_no_number_for(service: Service) -> None:
    words = "This order has no number for 2 of 6 matches; they stand last."

    assert words in told(service, status="all", sort="-gain")
    assert "This order has no number" not in told(service, status="in_progress", sort="-gain")
    assert "not of the session" in told(service, sort="-market_cap")


def test_a_history_tells_of_later_attempts_that_are_open(service: Service) -> None:
    open_now = [
        row["symbol"]
        for row in service.get("/scan?status=in_progress&limit=200").json()["setups"]
        if row["attempt"]["number"] > 1
    ]
    words = "Later attempts are not listed here; "

    assert "MSFT" in open_now
    for symbol in ("AAPL", "GOOG", "MSFT"):
        notes = " ".join(service.get(f"/tickers/{symbol}/history").json()["notes"])
        count = open_now.count(symbol)
        assert (f"{words}{count} of them" in notes) is (count > 0)
        assert (words in notes) is (count > 0)


def test_a_history_tells_from_when_on_its_symbol_is_measured(service: Service) -> None:
    record = service.get("/tickers/AAPL/record").json()["records"][0]
    first = dt.date.fromisoformat(record["backtest_range"][0])
    words = f"AAPL is measured from {first} on"

    def notes(**asked: Any) -> str:
        return " ".join(service.get("/tickers/AAPL/history", params=asked).json()["notes"])

    assert words in notes(since=first - dt.timedelta(days=1))
    assert words in notes(until=first - dt.timedelta(days=1))
    assert words not in notes(since=first)
    assert words not in notes()
