"""The keyless routes: families, universe and demo."""

from __future__ import annotations

import httpx
import pytest

from tests.contract.market import Market
from tests.service import TRACKED, Service

FAMILIES = ["rising_wedge", "falling_wedge", "bullish_pennant", "bearish_pennant", "triangle"]

ENVELOPE = {
    "is_current",
    *("api_version", "as_of_session", "data_version", "source", "disclaimer", "next_session"),
}


@pytest.mark.proves("FAM-list", "RULE-4", "RULE-1", "RULE-3")
def test_the_five_families_come_in_their_fixed_order_with_their_records(service: Service) -> None:
    answer = service.get("/families", key="").raise_for_status().json()

    assert [entry["family"] for entry in answer["families"]] == FAMILIES
    for entry in answer["families"]:
        assert set(entry) == {"family", "label", "track_record", "as_served"}
        assert entry["label"].lower().replace(" ", "_") == entry["family"]
        assert entry["track_record"]["sample_size"] > 0


@pytest.mark.proves("FAM-null", "FAM-list")
def test_a_family_without_a_sealed_record_has_null(market: Market) -> None:
    answer = market.service.get("/families", key="").json()

    records = {entry["family"]: entry["track_record"] for entry in answer["families"]}
    assert records["triangle"] is None
    assert records["rising_wedge"] is not None


@pytest.mark.proves("FAM-stats", "FAM-null")
@pytest.mark.parametrize("family", FAMILIES)
def test_a_familys_own_route_has_the_same_block(
    service: Service, market: Market, family: str
) -> None:
    for live in (service, market.service):
        answer = live.get(f"/families/{family}/stats", key="").raise_for_status().json()
        (entry,) = [
            entry
            for entry in live.get("/families", key="").json()["families"]
            if entry["family"] == family
        ]
        assert {name: answer[name] for name in entry} == entry


@pytest.mark.proves("FAM-universe", "RULE-3")
def test_the_universe_names_every_symbol_that_the_night_covers(
    service: Service, market: Market
) -> None:
    sample = service.get("/universe", key="").raise_for_status().json()
    whole = market.service.get("/universe", key="").json()

    assert [entry["symbol"] for entry in sample["symbols"]] == ["AAPL", "FB", "GOOG", "IBM", "MSFT"]
    assert len(whole["symbols"]) == 300
    assert sample.keys() - ENVELOPE == {"count", "symbols"}


@pytest.mark.proves("FAM-universe")
@pytest.mark.parametrize(
    ("search", "symbols"),
    [
        ("ibm", ["IBM"]),
        ("Apple", ["AAPL"]),
        ("micorsoft", ["MSFT"]),
        ("inc", ["AAPL", "GOOG", "FB"]),
        ("ZZZZZ", []),
    ],
)
def test_a_search_of_the_universe_answers_the_same_entries_best_match_first(
    service: Service, search: str, symbols: list[str]
) -> None:
    everything = service.get("/universe", key="").json()["symbols"]
    answer = service.get("/universe", key="", params={"search": search}).raise_for_status().json()

    assert [entry["symbol"] for entry in answer["symbols"]] == symbols
    assert all(entry in everything for entry in answer["symbols"])
    assert (answer["count"], answer["limit"], answer["offset"]) == (len(symbols), 50, 0)


def test_the_universe_is_paged(service: Service) -> None:
    page = {"limit": "2", "offset": "1"}
    answer = service.get("/universe", key="", params=page).raise_for_status().json()
    searched = service.get("/universe", key="", params={"search": "inc", **page}).json()

    assert [entry["symbol"] for entry in answer["symbols"]] == ["FB", "GOOG"]
    assert (answer["count"], answer["limit"], answer["offset"]) == (5, 2, 1)
    assert [entry["symbol"] for entry in searched["symbols"]] == ["GOOG", "FB"]
    assert (searched["count"], searched["limit"], searched["offset"]) == (3, 2, 1)


@pytest.mark.proves("DEMO-list", "RULE-3")
def test_the_demo_symbols_are_a_fixed_set(service: Service) -> None:
    answer = service.get("/demo", key="").raise_for_status().json()

    assert [entry["symbol"] for entry in answer["symbols"]] == list(service.settings.demo_symbols)


@pytest.mark.proves("DEMO-patterns", "RULE-3")
@pytest.mark.parametrize("symbol", TRACKED)
def test_the_demo_is_the_keyed_answer_with_the_way_to_a_key(service: Service, symbol: str) -> None:
    demo = service.get(f"/demo/{symbol.lower()}", key="").raise_for_status().json()
    keyed = service.get(f"/tickers/{symbol}/patterns").json()

    assert demo.pop("demo") is True
    assert "key" in demo["next"]
    assert demo.pop("next").endswith(".")
    chart = demo.pop("chart_url", None)
    assert (chart is None) is (keyed["setups"] == [])
    if chart:
        assert httpx.get(chart).headers["content-type"] == "image/png"
    assert demo == keyed


@pytest.mark.proves("DEMO-chart", "DEMO-chart-errors", "ERR-bad_request", "ERR-setup_not_found")
@pytest.mark.proves("DEMO-unknown", "ERR-not_a_demo_symbol")
def test_the_demo_chart_needs_the_id_of_a_current_setup(service: Service) -> None:
    for symbol, query, status, code in (
        ("IBM", "", 400, "bad_request"),
        ("IBM", "?setup_id=x", 404, "setup_not_found"),
        ("FB", "?setup_id=x", 404, "not_a_demo_symbol"),
    ):
        refusal = service.get(f"/demo/{symbol}/chart.png{query}", key="")
        assert (refusal.status_code, refusal.json()["error"]) == (status, code)
        assert ("setup_id" in refusal.json()["message"]) is (code == "bad_request")
    assert refusal.json()["details"]["demo_symbols"] == list(service.settings.demo_symbols)
