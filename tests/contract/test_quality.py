"""Quality: every surface tells the chance that readers accept a drawing, as the night sealed it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest

from mcp_server.charts.chart_data import chart_data
from screener.data.night import open_night
from store.wire.words import NO_QUALITY, QUALITY, caption
from tests.agent import call, connected
from tests.contract.market import active_book
from tests.contract.oldest_night import put_oldest
from tests.contract.views import SYMBOLS, asked_for, scanned, words
from tests.screener.command import run
from tests.screener.web.people import new_person, signed_in
from tests.service import Service, new_key, serving

FILTER = [{"kind": "quality", "op": ">=", "value": 0}]
ASKED = orjson.dumps(FILTER).decode()


@pytest.fixture(scope="module")
def oldest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A live service over a night of an older detector, which tells no quality."""
    with serving(put_oldest(tmp_path_factory.mktemp("oldest")), open_pages=True) as live:
        yield live


def sealed(folder: Path) -> dict[str, float]:
    """The score of each setup as the detector gave it, by setup id."""
    with closing(active_book(folder)) as book:
        stored = [book.setup(view.symbol, view.setup_id) for view in book.scan.rows]
        return {one.fields["setup_id"]: one.evidence["quality"] for one in stored if one}


async def test_rest_and_tools_tell_the_quality_of_every_setup(
    service: Service, night: Path
) -> None:
    wanted = {name: round(score, 1) for name, score in sealed(night).items()}
    key = new_key(service.settings, "quality@example.com", tracked=SYMBOLS)
    short = (await asked_for(service, key, "scan_setups", status="all", limit=200))["setups"]
    full = (await asked_for(service, key, "scan_setups", status="all", rows="full"))["setups"]
    tracked = (await asked_for(service, key, "list_tracked_tickers"))["tickers"]
    briefs = [brief for ticker in tracked for brief in ticker["setups"]]
    of_tickers: list[Any] = []
    async with connected(service.mcp_url, key) as client:
        for symbol in SYMBOLS:
            answer = await call(client, "get_ticker_patterns", symbol=symbol)
            of_tickers += (answer.structured_content or {})["setups"]

    assert len(set(wanted.values())) > 1
    for rows in (scanned(service), short, full, briefs, of_tickers):
        told = {row["setup_id"]: row["quality_pct"] for row in rows}
        assert told == pytest.approx(wanted, abs=0.051)


def test_pages_charts_commands_and_sheets_tell_it_and_what_it_means(
    service: Service, night: Path
) -> None:
    rows = scanned(service)
    member = signed_in(service, new_person(service))
    screen = words(member.get("/screen?status=all&sort=rank&columns=symbol,quality").text)
    table = run(night, "scan", "--status", "all", COLUMNS="250").stdout
    sheet = list(csv.DictReader(io.StringIO(run(night, "scan", "--status", "all", "--csv").stdout)))
    with open_night(night) as opened:
        exported = opened.polars("setups").to_dicts()

    heads = {row["lineage_id"]: row["setup_id"] for row in reversed(rows)}

    assert QUALITY[1:] in screen
    assert QUALITY[1:-1] in " ".join(table.split())
    for lines in (sheet, exported):
        told = {line["setup_id"]: float(line["quality_pct"]) for line in lines}
        assert told == {row["setup_id"]: row["quality_pct"] for row in rows}
    with closing(active_book(night)) as book:
        for row in rows:
            shown = f"{row['quality_pct']:.1f}%"
            page = words(member.get(f"/symbols/{row['symbol']}").text)
            printed = " ".join(run(night, "show", row["symbol"]).stdout.split())
            # Attempts of one formation share a row of the page.
            assert shown in screen or heads[row["lineage_id"]] != row["setup_id"]
            assert shown in table
            assert f"Quality {shown}. {QUALITY}" in page
            assert f"quality {shown}. {QUALITY}" in printed
            stored = book.setup(row["symbol"], row["setup_id"])
            assert stored is not None
            assert f"Quality {shown}: t{QUALITY[1:]}" in caption(stored.view, book.disclaimer)
            assert (
                orjson.loads(chart_data(book, stored) or b"")["quality_pct"] == row["quality_pct"]
            )


def test_the_scan_is_filtered_and_sorted_by_quality_and_keeps_its_order(service: Service) -> None:
    rows = scanned(service)
    told = sorted((row["quality_pct"] for row in rows), reverse=True)
    most = orjson.dumps([{"kind": "quality", "op": ">=", "value": told[1]}]).decode()

    by_rank = sorted(rows, key=lambda row: (row["status"] != "forming", row["rank"]))
    assert [row["rank"] for row in rows] == [row["rank"] for row in by_rank]
    assert [row["quality_pct"] for row in scanned(service, sort="-quality")] == told
    assert [row["quality_pct"] for row in scanned(service, sort="quality")] == told[::-1]
    kept = {row["quality_pct"] for row in scanned(service, filters=most)}
    assert kept == {quality for quality in told if quality >= told[1]}


def test_a_night_of_an_older_detector_has_no_quality_and_says_so(oldest: Service) -> None:
    every = oldest.get("/scan", params={"status": "all"}).json()
    filtered = oldest.get("/scan", params={"status": "all", "filters": ASKED}).json()
    ordered = oldest.get("/scan", params={"status": "all", "sort": "-quality"}).json()
    member = signed_in(oldest, new_person(oldest))
    page = words(member.get("/screen", params={"status": "all", "filters": ASKED}).text)
    symbol = every["setups"][0]["symbol"]
    data = oldest.settings.data_dir

    assert all(row.get("quality_pct") is None for row in every["setups"])
    assert (filtered["count"], filtered["without_evidence"]) == (0, {"quality": every["count"]})
    assert NO_QUALITY in filtered["notes"]
    assert NO_QUALITY in ordered["notes"]
    assert NO_QUALITY not in every["notes"]
    assert NO_QUALITY in page
    assert QUALITY not in words(member.get(f"/symbols/{symbol}").text)
    assert QUALITY not in run(data, "show", symbol).stdout
