"""Every surface says the same of one setup: what its record says, worked out here once more."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import pytest

from mcp_server.charts.chart_data import chart_data
from mcp_server.charts.charts import chart_view
from screener.web.market.columns import COLUMNS
from store.nights.book import Book
from store.wire.view import gain
from store.wire.words import QUALITY
from tests.contract.market import active_book, setup_of
from tests.contract.views import asked_for, scanned
from tests.screener.command import run
from tests.screener.web.browser import Browser
from tests.screener.web.market import make_market
from tests.screener.web.people import new_person, signed_in
from tests.screener.web.tree import words
from tests.service import TRACKED, Service, copy_night, serving

SINCE = ("entry_price", "entry_date", "gain_pct", "gain_r")
"""Fields of a running setup that nights sealed earlier lack."""


@pytest.fixture(params=["sample", "oldest", "market"], scope="module")
def live(
    request: pytest.FixtureRequest, night: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    """The sample night, that of the first version, and a market made of it."""
    if request.param == "oldest":
        yield request.getfixturevalue("oldest")
        return
    folder = tmp_path_factory.mktemp(request.param)
    copy_night(night, folder)
    if request.param == "market":
        make_market(folder)
    with serving(folder, open_pages=True) as service:
        yield service


class Expected(NamedTuple):
    """What is to be said of a setup, as numbers."""

    start: float
    stop: float
    stop_pct: float
    target: float
    target_pct: float
    ratio: float
    left: float | None
    """Reward to risk from the last close of a running trade that is short of its stop."""
    gain_pct: float | None
    gain_r: float | None
    distance: float | None
    quality: float | None
    """The score of the detector in percent; None of an older one."""

    @property
    def levels(self) -> list[str]:
        """The plan in words: prices, the moves to stop and target, reward to risk."""
        prices = [f"${self.start:,.2f}", f"${self.stop:,.2f}", f"${self.target:,.2f}"]
        moves = [f"{self.stop_pct:+,.2f}%", f"{self.target_pct:+,.2f}%", f"{self.ratio:,.2f}"]
        return prices + moves

    @property
    def tradable(self) -> str:
        """The reward to risk of lists: from the trigger or, once triggered, what is left."""
        number = self.ratio if self.gain_pct is None else self.left
        return "none" if number is None else f"{number:,.2f}"

    @property
    def place(self) -> str:
        """The gain so far or the distance, in words."""
        if self.gain_pct is not None:
            return f"{self.gain_pct:+,.2f}% ({self.gain_r:+,.2f} R)"
        assert self.distance is not None
        return f"trigger {self.away} the close"

    @property
    def away(self) -> str:
        """Where the trigger is from the last close; empty of a running trade."""
        if self.distance is None:
            return ""
        return f"{abs(self.distance):,.2f}% {'above' if self.distance > 0 else 'below'}"


@pytest.fixture
def book(live: Service) -> Iterator[Book]:
    with closing(active_book(live.settings.data_dir)) as opened:
        yield opened


def expected(book: Book, row: Mapping[str, Any]) -> Expected:
    """Worked out of the record and, for a night that kept it there, of the evidence beside it."""
    plan, running = row["plans"][0], row["status"] == "in_progress"
    stored, _ = setup_of(book, row["symbol"], row["setup_id"])
    start = float(stored.evidence["entry_price"] if running else plan["trigger_price"])
    stop, target, close = plan["stop_price"], plan["target_price"], row["last_close"]
    won = (close - start) * (1 if row["direction"] == "bullish" else -1)
    risk = abs(close - stop) if (close > stop) == (target > stop) else None
    away = row["distance_to_trigger_pct"] * (1 if plan["trigger_price"] > close else -1)
    return Expected(
        start=start,
        stop=stop,
        stop_pct=100 * (stop / start - 1),
        target=target,
        target_pct=100 * (target / start - 1),
        ratio=abs(target - start) / abs(start - stop),
        left=abs(target - close) / risk if running and risk else None,
        gain_pct=100 * won / start if running else None,
        gain_r=round(won / abs(start - stop), 3) if running else None,
        distance=None if running else away,
        quality=round(stored.evidence["quality"], 1) if "entry_price" in row else None,
    )


def test_the_screen_shows_the_numbers_of_each_row(live: Service, book: Book) -> None:
    columns = ",".join(COLUMNS)
    page = Browser(live).get(f"/screen?status=all&sort=rank&limit=200&columns={columns}").text
    shown = {
        setup: words(body)
        for setup, body in re.findall(r'#setup-([^"]+)" data-row>(.*?)</tr>', page, re.DOTALL)
    }
    rows = scanned(live)
    heads: dict[str, str] = {}
    for row in rows:
        heads.setdefault(row["lineage_id"], row["setup_id"])

    assert set(shown) == set(heads.values())
    for row in rows:
        said, head = expected(book, row), heads[row["lineage_id"]]
        assert (said.away or said.place) in shown[head]
        if row["setup_id"] != head:
            assert re.search(r"\+\d in this row Also ", shown[head])
            continue  # attempts of one formation share a row, which can be opened
        assert all(part in shown[head] for part in (*said.levels[:5], said.tradable))
        if row["win_rate_pct"] is not None:
            assert re.search(rf"{row['win_rate_pct']:.2f}%[,( ]", shown[head])
            assert f" {row['win_rate_trades']:,} " in shown[head]
        assert said.quality is None or f"{said.quality:.1f}%" in shown[head]


async def test_agents_read_the_numbers_of_each_row_in_short(live: Service, book: Book) -> None:
    own = replace(live, key=live.new_key())
    answer = await asked_for(own, status="all", limit=200)
    tracked = (await asked_for(own, "list_tracked_tickers"))["tickers"]
    short = {row["setup_id"]: row for row in answer["setups"]}
    briefs = {brief["setup_id"]: brief for ticker in tracked for brief in ticker["setups"]}
    rows = scanned(live)

    assert set(short) == {row["setup_id"] for row in rows} == set(briefs)
    for row in rows:
        said, compact = expected(book, row), short[row["setup_id"]]
        assert compact["reward_to_risk"] == pytest.approx(said.ratio, abs=0.0051)
        assert compact["win_rate_pct"] == row["win_rate_pct"]
        for part in (row, compact, briefs[row["setup_id"]]):
            assert part.get("quality_pct") == said.quality
        for part in (compact, briefs[row["setup_id"]]):
            if said.distance is None:
                trigger = row["plans"][0]["trigger_price"]
                way = abs(100 * (trigger / row["last_close"] - 1))
                assert part["distance_to_trigger_pct"] == pytest.approx(way, abs=0.0051)
                assert part["gain_pct"] == pytest.approx(said.gain_pct, abs=0.0051)
                assert part["gain_r"] == pytest.approx(said.gain_r, abs=0.00051)
            else:
                assert part["distance_to_trigger_pct"] == row["distance_to_trigger_pct"]
                assert "gain_pct" not in part
        if said.gain_pct is not None:
            assert compact["entry_price"] == said.start


def test_rest_has_the_entry_and_the_gain_of_running_setups(live: Service, book: Book) -> None:
    for row in scanned(live):
        if "entry_price" not in row:
            continue  # a night that was sealed without them is served as it is
        said = expected(book, row)
        if row["status"] == "forming":
            assert [row[name] for name in SINCE] == [None] * 4
            continue
        assert (row["entry_price"], row["gain_pct"]) == (
            said.start,
            pytest.approx(said.gain_pct, abs=0.0051),
        )
        past = book.history(row["symbol"])
        rows = map(orjson.loads, past.rows if past else ())
        entered = [each for each in rows if each["lineage_id"] == row["lineage_id"]]
        assert entered or row["lineage_id"].startswith("lineage")
        for each in entered:
            if row["attempt"]["number"] > 1:  # the history has the first attempt alone
                assert row["entry_date"] > each["entry_date"]
                continue
            assert row["entry_date"] == each["entry_date"]
            assert row["gain_r"] == pytest.approx(each["unrealized_r"], abs=0.0011)


def test_the_sheet_and_the_charts_have_the_numbers_of_each_row(live: Service, book: Book) -> None:
    printed = run(live.settings.data_dir, "scan", "--status", "all", "--limit", "200", "--csv")
    sheet = {int(line["rank"]): line for line in csv.DictReader(io.StringIO(printed.stdout))}
    for row in scanned(live):
        said, line = expected(book, row), sheet[row["rank"]]
        stored, prices = setup_of(book, row["symbol"], row["setup_id"])
        plan = chart_view(book, stored, prices).plan
        assert plan is not None
        data = orjson.loads(chart_data(book, stored) or b"")
        in_data = data["plans"][0]
        for stop_pct, target_pct, ratio in (
            (plan.stop_pct, plan.target_pct, plan.reward_to_risk),
            (in_data["stop_pct"], in_data["target_pct"], in_data["reward_to_risk"]),
            (float(line[name]) for name in ("stop_pct", "target_pct", "reward_to_risk")),
        ):
            assert stop_pct == pytest.approx(said.stop_pct, abs=0.0051)
            assert target_pct == pytest.approx(said.target_pct, abs=0.0051)
            assert ratio == pytest.approx(said.ratio, abs=0.0051)
        assert plan.start == in_data["start_price"] == said.start
        assert data["quality_pct"] == said.quality
        assert line["quality_pct"] == ("" if said.quality is None else str(said.quality))
        assert float(line["entry_price"] or line["trigger_price"]) == said.start
        gained, _ = gain(plan, row["last_close"])
        gains = [float(line["gain_pct"] or "nan"), data["gain_pct"], gained]
        if said.gain_pct is not None:
            assert gains == [pytest.approx(said.gain_pct, abs=0.0051)] * 3


def test_a_symbols_pages_and_commands_say_what_the_screen_says(
    service: Service, night: Path
) -> None:
    member = signed_in(service, new_person(service, tracked=TRACKED))
    watchlist = words(member.get("/watchlist").text)
    table = run(night, "scan", "--status", "all", COLUMNS="250").stdout.splitlines()
    with closing(active_book(night)) as book:
        for row in scanned(service):
            said, symbol = expected(book, row), row["symbol"]
            page = words(Browser(service).get(f"/symbols/{symbol}").text)
            printed = " ".join(run(night, "show", symbol).stdout.split())
            (line,) = (line for line in table if f" {said.levels[0]} " in line and symbol in line)

            for text in (page, printed):
                assert all(part in text for part in said.levels)
                assert f"uality {said.quality:.1f}%. {QUALITY}" in text
                assert said.place in text
            assert said.place in watchlist
            assert f" {said.quality:.1f}% " in line
            assert all(f" {part} " in line for part in (*said.levels[:3], said.tradable))
            if said.gain_pct is not None:
                assert f" {said.gain_pct:+.2f}% " in line
                assert f" {said.gain_r:+.2f} " in line


FIELDS = {
    "win_rate": "win_rate_pct",
    "typical_return": "expected_gain_pct",
    "dist_to_entry": "distance_to_trigger_pct",
    "min_rr": "reward_to_risk",
    "gain": "gain_pct",
    "min_expected_r": "expected_r",
}
"""The field of a short row that each kind of filter speaks of."""


@pytest.mark.parametrize("kind", FIELDS)
async def test_a_filter_counts_the_number_that_the_row_shows(live: Service, kind: str) -> None:
    every: dict[str, Any] = {"status": "all", "limit": 200}
    rows = (await asked_for(live, **every))["setups"]
    shown = {row["setup_id"]: row.get(FIELDS[kind]) for row in rows}
    shown = {name: value for name, value in shown.items() if value is not None}

    assert shown
    for value in sorted(set(shown.values()))[:3]:
        filters = [{"kind": kind, "op": ">=", "value": value}]
        answer = await asked_for(live, filters=filters, **every)
        matching = {row["setup_id"] for row in answer["setups"]}
        assert matching & set(shown) == {n for n, number in shown.items() if number >= value}


async def test_rows_show_the_record_of_the_ticker_that_a_filter_looks_at(live: Service) -> None:
    every: dict[str, Any] = {"status": "all", "limit": 200}
    filters = [{"kind": "min_win_rate", "op": ">=", "value": 0}]
    short = await asked_for(live, filters=filters, **every)
    full = await asked_for(live, filters=filters, rows="full", **every)
    plain = await asked_for(live, **every)

    assert short["count"]
    for row, whole in zip(short["setups"], full["setups"], strict=False):
        record = whole["track_record"]["ticker"] or {}
        own = (record.get("by_direction") or {row["direction"]: record})[row["direction"]] or {}
        shown = (row["ticker_win_rate_pct"], row["ticker_avg_r"], row["ticker_trades"])
        assert shown == (own.get("win_rate_pct"), own.get("avg_r"), own.get("sample_size", 0))
        assert ("opposite_plan" not in row) or "ticker_trades" in row["opposite_plan"]
    for answer, where in ((short, "ticker_win_rate_pct"), (full, "track_record.ticker")):
        assert f"record stands in {where}" in " ".join(answer["notes"])
    assert not any("ticker_trades" in row for row in plain["setups"])


async def test_a_scan_by_own_win_rate_in_another_order_says_where_its_order_comes_from(
    live: Service,
) -> None:
    own = [{"kind": "min_win_rate", "op": ">=", "value": 0}]
    by_family = await asked_for(live, sort="-win_rate", filters=own, status="all")
    by_ticker = await asked_for(live, sort="-ticker_win_rate", filters=own, status="all")

    told = ["sort by ticker_win_rate" in " ".join(one["notes"]) for one in (by_family, by_ticker)]
    assert told == [True, False]


async def test_notes_count_the_rows_that_are_shown(live: Service) -> None:
    answer = await asked_for(live, status="all", sort="-gain", rows="full", limit=200)
    running = sum(row["status"] == "in_progress" for row in answer["setups"])

    assert len(answer["setups"]) <= 20
    assert f"{running} of these {len(answer['setups'])} rows" in " ".join(answer["notes"])


def test_rows_without_a_number_for_a_condition_are_counted(service: Service) -> None:
    asked = '[{"kind":"min_win_rate","op":">=","value":0}]'
    answer = service.get("/scan", params={"status": "all", "filters": asked}).json()
    every = service.get("/scan", params={"status": "all"}).json()
    member = signed_in(service, new_person(service))
    page = words(member.get("/screen", params={"status": "all", "filters": asked}).text)
    without = answer["without_evidence"]["min_win_rate"]

    assert without + answer["count"] == every["count"]
    assert every["without_evidence"] == {}
    assert [note for note in every["notes"] if "win_rate" in note] == []
    added = [note for note in answer["notes"] if note not in every["notes"]]
    assert added[0].startswith("min_win_rate: ")
    assert "in track_record.ticker, of a triangle in its by_direction" in " ".join(added)
    count = "1 setup" if without == 1 else f"{without} setups"
    assert f"Win rate of this ticker: {count} without a value" in page


async def test_a_scan_by_own_records_says_who_stands_last(live: Service) -> None:
    for name in ("ticker_win_rate", "ticker_avg_r"):
        answer = await asked_for(live, sort=f"-{name}", status="all")
        assert "fewer than 5 resolved trades" in " ".join(answer["notes"])
    answer = await asked_for(live, sort="-win_rate", status="all")
    assert "fewer than 5 resolved trades" not in " ".join(answer["notes"])
