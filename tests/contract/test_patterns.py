"""The routes of one tracked ticker: patterns, history and charts."""

from __future__ import annotations

import datetime as dt
import io
import secrets
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from nightly.night import make_night
from screener.nightly import order_of
from screener.settings import Settings
from store.accounts import utc_now
from store.families import Family
from store.nights import Nights
from tests.agent import call, connected, texts
from tests.contract.market import Market
from tests.service import Service, new_key, serving

PATHS = (
    "/tickers/{}/patterns",
    "/tickers/{}/history",
    "/tickers/{}/record",
    "/tickers/{}/chart.png?setup_id=x",
)


@pytest.fixture(scope="module")
def key(market: Market) -> str:
    """A key of an account on the market that tracks symbols of every kind."""
    tracked = ("M1", "M2", "QUIET", "SHORT")
    return new_key(
        market.service.settings, f"patterns-{secrets.token_hex(4)}@example.com", tracked=tracked
    )


@pytest.mark.proves("PAT-patterns", "PAT-reason", "RULE-1")
def test_a_covered_symbol_answers_its_stored_setups(market: Market, key: str) -> None:
    answer = market.service.get("/tickers/M1/patterns", key=key).json()

    assert (answer["symbol"], answer["available"]) == ("M1", True)
    assert "reason" not in answer
    (setup,) = answer["setups"]
    assert setup == {name: market.rows[0][name] for name in setup}


@pytest.mark.proves("PAT-patterns", "PAT-reason")
def test_a_covered_symbol_where_nothing_forms_has_no_setups(market: Market, key: str) -> None:
    answer = market.service.get("/tickers/QUIET/patterns", key=key).json()

    assert (answer["available"], answer["setups"]) == (True, [])
    assert "reason" not in answer


@pytest.mark.proves("PAT-patterns", "PAT-reason")
def test_an_excluded_symbol_is_not_available_for_a_reason(market: Market, key: str) -> None:
    answer = market.service.get("/tickers/SHORT/patterns", key=key).json()

    assert (answer["available"], answer["reason"]) == (False, "not_covered")
    assert answer["setups"] == []


@pytest.mark.proves("PAT-patterns", "PAT-reason", "PAT-history-available")
def test_before_the_first_night_patterns_and_history_are_not_available(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with serving(tmp_path_factory.mktemp("bare")) as bare:
        patterns = bare.get("/tickers/AAPL/patterns").json()
        history = bare.get("/tickers/AAPL/history").json()

    assert (patterns["available"], patterns["setups"]) == (False, [])
    assert "reason" not in patterns
    assert history["available"] is False
    assert (history["occurrences"], history["count"], history["total"]) == ([], 0, 0)


@pytest.mark.proves("BASE-symbol")
@pytest.mark.parametrize("path", ["/tickers/{}/patterns", "/tickers/{}/history", "/demo/{}"])
def test_path_symbols_are_upper_cased(service: Service, path: str) -> None:
    answers = [service.get(path.format(symbol)) for symbol in ("GOOG", "goog", "Goog")]

    assert {answer.json()["symbol"] for answer in answers} == {"GOOG"}
    assert len({answer.content for answer in answers}) == 1


@pytest.mark.proves("PAT-history", "PAT-history-counts", "PAT-history-outcome")
@pytest.mark.parametrize("symbol", ["AAPL", "GOOG", "IBM", "MSFT"])
def test_history_is_newest_entry_first_and_filtered_by_outcome(
    service: Service, symbol: str
) -> None:
    path = f"/tickers/{symbol}/history?limit=100"
    whole = service.get(path).json()
    rows = whole["occurrences"]

    assert (whole["symbol"], whole["available"]) == (symbol, True)
    assert whole["count"] == whole["total"] == len(rows)
    entries = [row["entry_date"] for row in rows]
    assert entries == sorted(entries, reverse=True)
    for outcome, kept in (
        ("all", {"win", "loss", "open"}),
        ("resolved", {"win", "loss"}),
        ("open", {"open"}),
        ("RESOLVED", {"win", "loss"}),
        ("Open", {"open"}),
    ):
        some = service.get(f"{path}&outcome={outcome}").json()
        assert some["occurrences"] == [row for row in rows if row["outcome"] in kept]
        assert some["total"] == len(some["occurrences"])


@pytest.mark.parametrize("family", list(Family))
def test_history_is_filtered_by_family_before_it_is_cut(
    service: Service, market: Market, key: str, family: Family
) -> None:
    rows = service.get("/tickers/AAPL/history?limit=100").json()["occurrences"]
    some = service.get(f"/tickers/AAPL/history?family={family.upper()}").json()
    assert some["occurrences"] == [row for row in rows if row["family"] == family]
    assert some["count"] == some["total"] == len(some["occurrences"])

    path = "/tickers/M1/history?outcome=resolved&limit="
    whole = market.service.get(f"{path}100", key=key).json()["occurrences"]
    one = market.service.get(f"{path}1&family={family}", key=key).json()
    assert one["occurrences"] == [row for row in whole if row["family"] == family][:1]
    assert one["total"] >= one["count"] == len(one["occurrences"])


@pytest.mark.proves("PAT-history-limit", "LIM-history", "PAT-history-counts", "PAT-history")
@pytest.mark.parametrize(
    ("asked", "given"),
    [("", 50), ("?limit=1", 1), ("?limit=0", 1), ("?limit=-7", 1), ("?limit=100", 100),
     ("?limit=101", 100), (f"?limit={10**30}", 100)],
)  # fmt: skip
def test_history_gives_50_rows_unless_asked_and_1_to_100(
    market: Market, key: str, asked: str, given: int
) -> None:
    answer = market.service.get(f"/tickers/M1/history{asked}", key=key).json()

    assert answer["count"] == len(answer["occurrences"]) == given
    assert answer["total"] == 150


@pytest.mark.proves("PAT-history-counts", "PAT-history-outcome")
def test_the_total_counts_what_matches_before_the_limit(market: Market, key: str) -> None:
    path = "/tickers/M1/history?limit=2&outcome="
    totals = {
        outcome: market.service.get(path + outcome, key=key).json()["total"]
        for outcome in ("all", "resolved", "open")
    }

    assert totals["all"] == totals["resolved"] + totals["open"] == 150
    assert totals["open"] > 2


@pytest.mark.proves("PAT-history-available")
def test_a_symbol_without_stored_history_has_none(market: Market, key: str) -> None:
    answer = market.service.get("/tickers/M2/history", key=key).json()

    assert answer["available"] is False
    assert (answer["occurrences"], answer["count"], answer["total"]) == ([], 0, 0)


@pytest.mark.proves("PAT-errors-parameters", "ERR-bad_request", "PAT-history-limit")
@pytest.mark.proves("PAT-history-outcome", "PAT-chart")
@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("history?limit=x", "limit"),
        ("history?limit=2.5", "limit"),
        ("history?limit=", "limit"),
        ("history?outcome=win", "outcome"),
        ("history?outcome=", "outcome"),
        ("chart.png", "setup_id"),
    ],
)
def test_a_malformed_parameter_is_refused_by_its_name(
    service: Service, path: str, name: str
) -> None:
    answer = service.get(f"/tickers/AAPL/{path}")

    assert (answer.status_code, answer.json()["error"]) == (400, "bad_request")
    assert name in answer.json()["message"]


@pytest.mark.proves("PAT-chart", "PAT-chart-once", "LIM-caches", "BASE-json")
def test_a_chart_is_a_png_that_may_be_kept_one_hour(service: Service) -> None:
    for symbol in ("AAPL", "GOOG", "IBM", "MSFT"):
        for setup in service.get(f"/tickers/{symbol}/patterns").json()["setups"]:
            path = f"/tickers/{symbol}/chart.png?setup_id={setup['setup_id']}"
            answer = service.get(path).raise_for_status()
            assert answer.headers["content-type"] == "image/png"
            assert answer.headers["cache-control"] == "private, max-age=3600"
            assert Image.open(io.BytesIO(answer.content)).format == "PNG"


@pytest.mark.proves("PAT-chart-once")
def test_a_chart_is_drawn_once_and_kept(data_dir: Path) -> None:
    with serving(data_dir) as live:
        (setup,) = live.get("/tickers/IBM/patterns").json()["setups"]
        path = f"/tickers/IBM/chart.png?setup_id={setup['setup_id']}"
        live.get(path).raise_for_status()
        (kept,) = (data_dir / "charts").rglob(f"{setup['setup_id']}*.png")
        Image.new("L", (1, 1)).save(kept)

    with serving(data_dir, email="later@example.com") as live:
        assert live.get(path).content == kept.read_bytes()


@pytest.mark.proves("PAT-errors-chart", "ERR-setup_not_found", "PAT-chart")
def test_the_chart_of_another_symbols_setup_is_not_found(service: Service) -> None:
    setup = service.get("/tickers/AAPL/patterns").json()["setups"][0]
    own = service.get(f"/tickers/AAPL/chart.png?setup_id={setup['setup_id']}")
    other = service.get(f"/tickers/IBM/chart.png?setup_id={setup['setup_id']}")

    assert own.status_code == 200
    assert (other.status_code, other.json()["error"]) == (404, "setup_not_found")
    assert "patterns" in other.json()["fix"]


@pytest.mark.proves("HIST-ids")
def test_an_id_of_the_history_need_not_be_servable(service: Service) -> None:
    row = service.get("/tickers/IBM/history").json()["occurrences"][-1]
    answer = service.get(f"/tickers/IBM/chart.png?setup_id={row['setup_id']}")

    assert answer.json()["error"] == "setup_not_found"


@pytest.mark.proves("PAT-errors-chart", "ERR-chart_unavailable", "ERR-mcp", "MCP-errors")
async def test_a_setup_without_stored_prices_cannot_be_drawn(market: Market, key: str) -> None:
    setup_id = market.rows[0]["setup_id"]
    answer = market.service.get(f"/tickers/M1/chart.png?setup_id={setup_id}", key=key)
    async with connected(market.service.mcp_url, key) as client:
        result = await call(client, "get_pattern_chart", symbol="M1", setup_id=setup_id)

    assert (answer.status_code, answer.json()["error"]) == (404, "chart_unavailable")
    assert "JSON" in answer.json()["fix"]
    assert "endpoints" in answer.json()["fix"]
    assert texts(result)[0].startswith("chart_unavailable: ")


@pytest.mark.proves("PAT-errors-caller", "RULE-3-tracked", "ERR-ticker_not_tracked")
@pytest.mark.parametrize("path", PATHS)
def test_an_untracked_ticker_is_refused_with_the_way_to_add_it(service: Service, path: str) -> None:
    answer = service.get(path.format("FB"))

    body = answer.json()
    assert (answer.status_code, body["error"]) == (403, "ticker_not_tracked")
    for words in ("196 of 200 slots are free", "PUT or PATCH /tickers", "set_tracked_tickers"):
        assert words in body["fix"]


@pytest.mark.proves("ERR-retry", "RULE-3-tracked")
def test_an_untracked_ticker_answers_once_it_is_added(service: Service) -> None:
    key = new_key(service.settings, "adding@example.com", tracked=())
    assert service.get("/tickers/IBM/patterns", key=key).status_code == 403

    service.request("PATCH", "/tickers", key=key, json={"add": ["IBM"]}).raise_for_status()

    assert service.get("/tickers/IBM/patterns", key=key).status_code == 200


@pytest.mark.proves("RULE-2", "SETUP-setup_id", "VER-3", "LIM-freshness", "EVENT-poll")
def test_another_night_has_other_ids_and_serves_no_setup_of_the_night_before(
    tmp_path: Path,
) -> None:
    seen: list[dict[str, Any]] = []
    for session in ("2012-10-02", "2012-10-03"):
        settings = Settings(data_dir=tmp_path)
        order = order_of(settings, session=dt.date.fromisoformat(session))
        make_night(order, Nights(tmp_path), now=utc_now())
        (tmp_path / "accounts.sqlite").unlink(missing_ok=True)
        with serving(tmp_path) as live:
            scan = live.get("/scan?status=all").json()
            if seen:
                old = seen[0]["setups"]
                paths = [f"/demo/{s['symbol']}/chart.png?setup_id={s['setup_id']}" for s in old]
                codes = {live.get(path).json()["error"] for path in paths}
                assert codes == {"setup_not_found"}
        seen.append(scan)

    ids = [{setup["setup_id"] for setup in scan["setups"]} for scan in seen]
    assert all(ids)
    assert ids[0].isdisjoint(ids[1])
    assert [scan["as_of_session"] for scan in seen] == ["2012-10-02", "2012-10-03"]
    assert seen[0]["data_version"] != seen[1]["data_version"]
    lineages = [{setup["lineage_id"] for setup in scan["setups"]} for scan in seen]
    assert lineages[0] & lineages[1]
