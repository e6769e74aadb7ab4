"""What agents write for a value is read as what they mean, and nothing else is."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_server.operations.arguments import read_arguments
from mcp_server.operations.spellings import STRICT, number, spelled
from mcp_server.operations.table import OPERATIONS
from tests.agent import call, connected, texts
from tests.service import Service


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *(("40", 40), (" 40 ", 40), ("5.0", 5), ("1,500", 1500), ("1,234,567.5", 1234567.5)),
        *(("2B", 2_000_000_000), ("1.5m", 1_500_000), ("300k", 300_000), ("3 million", 3_000_000)),
        *(("-5", -5), ("\N{MINUS SIGN}5", -5), ("+.5", 0.5), ("1e3", 1000), ("1_000", 1000)),
        *((text, text) for text in ("many", "", "1,5", "12,34", "5 apples", "--5", "nan", "inf")),
        *((text, text) for text in (".", "$", "%", "1" * 65)),
        *((raw, raw) for raw in (40, 4.5, True, None, [1])),
    ],
)
def test_a_number_is_read_from_text(text: object, value: object) -> None:
    read = number(text)

    assert (read, type(read)) == (value, type(value))


SIGNED = ("40%", "$1,500", "2x", "€5", "£20", "$5%")


@pytest.mark.parametrize(
    ("unit", "read"),
    [
        ("%", {"40%": 40, "12.5 pct": 12.5, "-5 percent": -5}),
        ("0..100", {"40%": 40}),
        ("$", {"$1,500": 1500, "$2B": 2_000_000_000}),
        *((unit, {"2x": 2, "40%": 0.4, "200%": 2}) for unit in ("x", "ratio")),
        *((unit, {}) for unit in ("R", "shares", "sessions", "")),
    ],
)
def test_a_number_with_the_sign_of_another_unit_is_not_read(
    unit: str, read: dict[str, float]
) -> None:
    for text in {*read, *SIGNED}:
        assert number(text, unit) == read.get(text, text)


FILTERS = [{"kind": "rsi", "op": "<", "value": 40}]


@pytest.mark.parametrize(
    ("sent", "taken"),
    [
        ({"kind": "rsi", "op": "<", "value": 40}, FILTERS),
        ('{"kind":"rsi","op":"<","value":40}', FILTERS),
        ('[{"kind":"RSI","op":"lt","value":"40%"}]', FILTERS),
        (['{"kind":"rsi","op":"<","value":40}'], FILTERS),
        ([{"kind": "Rsi", "op": " < ", "value": "40", "period": None}], FILTERS),
        (
            [{"kind": "price above SMA", "op": "==", "value": "True", "period": 200.0}],
            [{"kind": "price_above_sma", "value": True, "period": 200}],
        ),
        (
            [{"kind": "Asset-Type", "op": None, "value": "ETF", "period": ""}],
            [{"kind": "asset_type", "value": "ETF"}],
        ),
        (
            [{"kind": "market_cap", "op": "≥", "value": "2B"}],
            [{"kind": "market_cap", "op": ">=", "value": 2_000_000_000}],
        ),
        (
            [{"kind": "volume_ratio", "op": ">", "value": "200%"}],
            [{"kind": "volume_ratio", "op": ">", "value": 2}],
        ),
        (
            [{"kind": "performance", "op": ">", "value": "2x"}],
            [{"kind": "performance", "op": ">", "value": "2x"}],
        ),
        ("rsi<40", "rsi<40"),
        ([7], [7]),
        ([{"kind": "mood", "value": "x"}], [{"kind": "mood", "value": "x"}]),
    ],
)
def test_a_predicate_is_read_in_any_usual_form(sent: object, taken: object) -> None:
    assert spelled(OPERATIONS["scan_setups"], {"filters": sent}) == {"filters": taken}


@pytest.mark.parametrize(
    ("name", "sent", "taken"),
    [
        ("family", "symmetrical_triangle", "triangle"),
        ("family", "Ascending Triangle", "triangle"),
        ("family", "Rising-Wedges", "rising_wedge"),
        ("family", ["triangle"], "triangle"),
        ("family", '["Triangle"]', "triangle"),
        ("family", "cup", "cup"),
        *(("family", each, each) for each in ("rising_wedge,triangle", "any but triangle")),
        *(("family", each, each) for each in ("bullish triangle", '["triangle","cup"]')),
        ("status", "In Progress", "in_progress"),
        ("status", "Triggered", "in_progress"),
        ("direction", "BULLISH", "bullish"),
        ("sort", "Expected R", "expected_r"),
        ("sort", "-Expected-R", "-expected_r"),
        ("sort", "expected_r desc", "-expected_r"),
        ("sort", "distance:asc", "distance"),
        ("limit", "5.0", 5),
        ("max_distance_pct", "5%", 5),
    ],
)
def test_a_name_or_number_is_read_in_any_spelling(name: str, sent: object, taken: object) -> None:
    assert spelled(OPERATIONS["scan_setups"], {name: sent}) == {name: taken}


@pytest.mark.parametrize("nothing", ["", " ", "null", "None", "undefined", None])
def test_an_optional_argument_that_says_nothing_is_left_out(nothing: object) -> None:
    sent = dict.fromkeys(("family", "filters", "limit", "max_distance_pct", "sort"), nothing)

    assert spelled(OPERATIONS["scan_setups"], sent) == {}


def test_a_whole_list_that_is_empty_text_is_no_list() -> None:
    """It would drop every ticker."""
    assert spelled(OPERATIONS["set_tracked_tickers"], {"symbols": ""}) == {"symbols": ""}


@pytest.mark.parametrize(
    ("sent", "taken"),
    [
        *(("AAPL, MSFT", ["AAPL", "MSFT"]), ("AAPL MSFT", ["AAPL", "MSFT"])),
        *(('["AAPL","MSFT"]', ["AAPL", "MSFT"]), ("AAPL;MSFT\n", ["AAPL", "MSFT"])),
        *(("AAPL", ["AAPL"]), ("[]", []), (["AAPL,MSFT"], ["AAPL,MSFT"])),
        *(("['AAPL', 'MSFT']", ["AAPL", "MSFT"]), ("[AAPL, MSFT]", ["AAPL", "MSFT"])),
        *((each, each) for each in ('["AAPL", "MS]', '["AAPL", "MSFT"', "[['AAPL']]", "[a]b")),
    ],
)
def test_a_list_is_read_from_its_text(sent: object, taken: object) -> None:
    assert spelled(OPERATIONS["add_tickers"], {"symbols": sent}) == {"symbols": taken}


STRICTLY: tuple[dict[str, Any], ...] = (
    *({"limit": "5.0"}, {"max_distance_pct": "5%"}, {"family": "symmetrical_triangle"}),
    *({"direction": ""}, {"status": "in progress"}, {"filters": '{"kind":"rsi"}'}),
)


@pytest.mark.parametrize("sent", STRICTLY)
def test_rest_reads_as_written_what_the_interface_has_an_error_for(
    service: Service, sent: dict[str, Any]
) -> None:
    assert spelled(OPERATIONS["scan"], sent, STRICT) == sent
    assert service.get("/scan", params=sent).json()["error"] == "bad_request"


def test_rest_reads_other_parameters_in_any_spelling(service: Service) -> None:
    sorted_ = service.get("/scan", params={"status": "all", "sort": "Expected R desc"}).json()
    before = service.tracked()
    put = service.request("PUT", "/tickers", json={"symbols": ",".join(before)})

    assert sorted_["sort"] == "-expected_r"
    assert [each["symbol"] for each in put.json()["tickers"]] == before


def test_a_text_is_read_without_the_quotes_of_json() -> None:
    operation = OPERATIONS["get_pattern_history"]

    for sent in ('"AAPL"', '["AAPL"]', ["AAPL"]):
        assert spelled(operation, {"symbol": sent}) == {"symbol": "AAPL"}
    for sent in ('["AAPL","MSFT"]', '"AAPL', "[AAPL]"):
        assert spelled(operation, {"symbol": sent}) == {"symbol": sent}


def test_what_is_read_is_still_held_to_the_rules() -> None:
    operation = OPERATIONS["scan_setups"]
    taken = read_arguments(operation.arguments, spelled(operation, {"limit": "9,000"}))

    assert taken.limit == 200  # type: ignore[attr-defined]


async def test_an_agent_may_write_so(service: Service) -> None:
    async with connected(service.extended_url, service.key) as client:
        answer = await call(
            client,
            "scan_setups",
            status="All",
            family="",
            limit="3",
            filters='{"kind":"PRICE","op":">=","value":"$1"}',
        )
        refused = await call(client, "scan_setups", filters="rsi<40")

    assert not answer.is_error
    found = answer.structured_content or {}
    assert found["filters"]["predicates"] == [{"kind": "price", "op": ">=", "value": 1}]
    assert found["limit"] == 3
    assert texts(refused)[0].startswith("bad_request: filters is not JSON.")
