"""Quality: what it means, filters and orders by it, and nights that have none."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import orjson

from screener.data.night import open_night
from store.wire.words import NO_QUALITY, QUALITY, caption
from tests.contract.market import active_book
from tests.contract.views import scanned
from tests.screener.command import run
from tests.screener.web.people import new_person, signed_in
from tests.screener.web.tree import words
from tests.service import Service

FILTER = [{"kind": "quality", "op": ">=", "value": 0}]
ASKED = orjson.dumps(FILTER).decode()


def test_tables_sheets_and_captions_say_what_quality_means(service: Service, night: Path) -> None:
    member = signed_in(service, new_person(service))
    screen = words(member.get("/screen?status=all&columns=symbol,quality").text)
    table = run(night, "scan", "--status", "all", COLUMNS="250").stdout
    with open_night(night) as opened:
        exported = opened.polars("setups").to_dicts()

    assert QUALITY[1:] in screen
    assert QUALITY[1:-1] in " ".join(table.split())
    told = {line["setup_id"]: line["quality_pct"] for line in exported}
    assert told == {row["setup_id"]: row["quality_pct"] for row in scanned(service)}
    with closing(active_book(night)) as book:
        for view in book.scan.rows:
            shown = f"Quality {view.quality_pct:.1f}%: t{QUALITY[1:]}"
            assert shown in caption(view, book.disclaimer)


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
