"""The oldest night there is, sealed by the first version, is served on until it is made anew."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcp_server.filters.filters import Predicate, Value
from mcp_server.filters.kinds import KINDS
from rest_facade.routes import ROUTES
from screener.data.columns import TABLES
from screener.data.night import open_night
from screener.settings.settings import Settings
from store.errors import ManifestError
from store.ledger.manifest import SCHEMA_VERSION, read_manifest
from store.nights.book import Book
from store.nights.nights import Nights
from tests.agent import call, connected
from tests.contract.oldest_night import VERSION, put_oldest
from tests.screener.command import check_refusal, run
from tests.screener.web.people import new_person, signed_in
from tests.service import Service

ARGUMENTS = {"symbol": "AAPL", "symbols": ["AAPL"], "family": "triangle"}
"""What tools that need an argument are given."""


def test_every_route_answers_over_the_oldest_night(oldest: Service) -> None:
    row = oldest.get("/scan", params={"status": "all"}).json()["setups"][0]
    oldest.request("PUT", "/tickers", json={"symbols": [row["symbol"]]})
    for route in ROUTES:
        if route.method == "GET":
            path = route.path.format(symbol=row["symbol"], family=row["family"])
            answer = oldest.get(path, params={"setup_id": row["setup_id"]})
            assert answer.status_code == 200, (path, answer.text)
            if "json" in answer.headers["content-type"] and "openapi" not in answer.json():
                assert answer.json()["data_version"] == VERSION, path
                assert answer.json()["next_session"] is None, path
    record = oldest.get(f"/tickers/{row['symbol']}/record").json()
    assert (record["available"], record["reason"]) == (False, "not_sealed")
    assert oldest.get("/changes").json()["available"] is False


def test_every_setup_of_the_oldest_night_is_drawn_and_every_filter_answers(oldest: Service) -> None:
    rows = oldest.get("/scan", params={"status": "all"}).json()["setups"]
    oldest.request("PUT", "/tickers", json={"symbols": sorted({row["symbol"] for row in rows})})
    assert len(rows) == 5
    for row in rows:
        chart = oldest.get(
            f"/tickers/{row['symbol']}/chart.png", params={"setup_id": row["setup_id"]}
        )
        assert chart.content.startswith(b"\x89PNG"), row
    for kind in KINDS.values():
        value: Value = kind.choices[0] if kind.choices else True
        op = None
        if kind.takes == "number":
            op, value = ">", 0
        for period in kind.periods or (None,):
            one = Predicate(kind, op, value, period)
            found = oldest.get("/scan", params={"filters": json.dumps([one.canonical])})
            assert found.status_code == 200, one


async def test_every_tool_answers_over_the_oldest_night(oldest: Service) -> None:
    row = oldest.get("/scan", params={"status": "all"}).json()["setups"][0]
    given = {**ARGUMENTS, "symbol": row["symbol"], "setup_id": row["setup_id"]}
    for address in (oldest.mcp_url, oldest.extended_url):
        async with connected(address, oldest.key) as client:
            for tool in (await client.list_tools()).tools:
                wanted = tool.input_schema.get("properties", {})
                arguments = {name: value for name, value in given.items() if name in wanted}
                # Some tools edit the list; what is asked of a symbol needs it tracked.
                oldest.request("PUT", "/tickers", json={"symbols": [row["symbol"]]})
                answer = await call(client, tool.name, **arguments)
                assert not answer.is_error, (tool.name, answer)


def test_every_page_is_shown_over_the_oldest_night(oldest: Service) -> None:
    rows = oldest.get("/scan", params={"status": "all"}).json()["setups"]
    browser = signed_in(oldest, new_person(oldest, tracked=(rows[0]["symbol"],)))
    symbols = sorted({row["symbol"] for row in rows})
    pages = ("/", "/screen", "/docs", "/method", "/changes", "/status", "/keys", "/watchlist")
    for path in (*pages, *(f"/symbols/{symbol}" for symbol in symbols), "/screen?status=all"):
        assert browser.get(path).status_code == 200, path
    assert "has no earlier night to compare with" in browser.get("/changes").text


def test_commands_and_the_nightly_go_on_from_the_oldest_night(tmp_path: Path) -> None:
    data = put_oldest(tmp_path / "data")
    for command in (
        *(("scan", "--status", "all"), ("scan", "--csv", "--status", "all"), ("scan", "--json")),
        *(("show", "AAPL"), ("show", "GOOG"), ("show", "MSFT", "--json"), ("night", "list")),
        *(("night", "show"), ("night", "verify")),
        *(("night", "report"), ("night", "changes"), ("ledger", "verify")),
    ):
        done = run(data, *command)
        assert done.returncode == 0, (command, done.stderr)
    assert run(data, "chart", "GOOG", "--out", str(tmp_path / "goog.png")).returncode == 0

    assert run(data, "nightly").returncode == 0
    new = Nights(data).check_active()
    assert new.data_version != VERSION
    assert Nights(data).ledger.newest().number
    assert run(data, "night", "activate", VERSION).returncode == 0
    assert run(data, "backup", str(tmp_path / "b")).returncode == 0
    assert run(tmp_path / "other", "restore", str(tmp_path / "b")).returncode == 0
    assert Nights(tmp_path / "other").check_active().data_version == VERSION


def rewrite(path: Path, **fields: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


@pytest.mark.parametrize("fields", [{}, {"added_later": 1}])
def test_a_night_of_a_newer_version_is_refused_with_what_to_do(
    fields: dict[str, object], tmp_path: Path
) -> None:
    data = put_oldest(tmp_path / "data")
    rewrite(data / "manifest.json", schema_version=SCHEMA_VERSION + 1, **fields)

    with pytest.raises(ManifestError, match="newer version"):
        read_manifest(data / "manifest.json")
    check_refusal(run(data, "serve"), "screener night activate")
    assert run(data, "night", "activate", VERSION).returncode == 0
    Book.open(data / "nights" / f"{VERSION}.book", Nights(data).check_active()).close()
    assert Settings(data_dir=data).data_dir == data


def test_the_oldest_night_is_exported_with_nulls_for_what_it_lacks(tmp_path: Path) -> None:
    with open_night(put_oldest(tmp_path)) as night:
        frames = {table: night.polars(table) for table in TABLES}

    assert {table: len(frame) for table, frame in frames.items() if table != "columns"} == {
        "night": 1,
        "setups": 5,
        "trades": 98,
        "records": 5,
        "features": 5,
    }
    assert frames["records"]["lift_r"].is_null().all()
    assert frames["records"]["avg_loss_pct"].is_not_null().all()
