"""The REST routes: what a request may look like, beside the calls of tests/contract/cases.py."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from mcp_server.operations.table import OPERATIONS
from rest_facade.routes import ROUTES
from tests.contract.codes import check_error
from tests.screener.process import until
from tests.service import Service, new_key


def test_head_answers_as_get_without_a_body(service: Service) -> None:
    answer = service.request("HEAD", "/families")

    assert answer.status_code == 200
    assert answer.content == b""


def test_a_repeated_parameter_takes_its_last_value_and_an_unknown_one_is_ignored(
    service: Service,
) -> None:
    path = "/tickers/MSFT/history"
    assert service.get(f"{path}?limit=x&limit=2&colour=red").json()["count"] == 2
    assert service.get("/scan?min_win_rate=90").json() == service.get("/scan").json()


@pytest.mark.parametrize("written", ["symbols={}&symbols={}", "symbols={},{}&symbols={}"])
def test_a_list_whose_name_is_repeated_has_all_its_items(service: Service, written: str) -> None:
    rows = service.get("/scan?status=all").json()["setups"]
    wanted = {row["symbol"] for row in rows[:3]}
    first, last = min(wanted), max(wanted)

    found = service.get(f"/scan?status=all&{written.format(first, last, first)}").json()["setups"]

    assert first != last
    assert {row["symbol"] for row in found} == {first, last}


@pytest.mark.proves("TICK-errors-symbols")
def test_a_body_that_is_no_list_of_known_symbols_is_refused_and_changes_nothing(
    service: Service, subtests: pytest.Subtests
) -> None:
    before = service.get("/tickers").json()
    cases: list[tuple[dict[str, Any], str, Any]] = [
        *(
            ({"content": body}, "bad_request", None)
            for body in (b"", b"{", b"[]", b"null", b"1", b'"x"', b"\xff", b"[" * 400 + b"]" * 400)
        ),
        *(
            ({"json": {"symbols": symbols}}, "bad_request", None)
            for symbols in (None, "", 5, [5], [None], {"a": 1})
        ),
        ({"json": {"symbols": ["A" * 66_000]}}, "payload_too_large", None),
        # The first kind of fault is named alone.
        (
            {"json": {"symbols": ["AA-PL", "NOPE", "AAPL"]}},
            "invalid_symbol",
            {"rejected": ["AA-PL"], "nearest": {"AA-PL": ["AAPL"]}},
        ),
    ]
    for sent, code, details in cases:
        with subtests.test(sent=str(sent)[:80]):
            body = check_error(service.request("PUT", "/tickers", **sent), code)
            assert body.get("details") == details
            assert "json" not in sent or code != "bad_request" or "symbols" in body["message"]
    assert service.get("/tickers").json() == before


def test_a_body_that_is_cut_short_changes_nothing(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "access")
    before = service.get("/tickers").json()
    head = f"PUT /api/v1/tickers HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {service.key}\r\n"
    with socket.create_connection(("127.0.0.1", service.settings.port)) as client:
        client.sendall(f'{head}Content-Length: 30\r\n\r\n{{"symbols": []}}'.encode())

    until(lambda: any(vars(each).get("code") == "bad_request" for each in caplog.records))
    assert service.get("/tickers").json() == before
    assert not [each for each in caplog.records if each.levelname == "ERROR"]


def test_a_change_is_never_answered_as_unchanged(service: Service) -> None:
    key = new_key(service.settings, "conditional@example.com", tracked=())

    for condition in ("*", service.get("/tickers", key=key).headers["etag"]):
        answer = service.request(
            "PUT", "/tickers", key=key, json={"symbols": []}, headers={"If-None-Match": condition}
        )
        assert answer.status_code == 200
        assert answer.json()["count"] == 0


def test_every_operation_that_changes_something_is_marked_so() -> None:
    """Those that a route reaches by another method than GET, and the tools for parts of one."""
    changing = {route.operation for route in ROUTES if route.method != "GET"}
    changing |= {"add_tickers", "remove_tickers"}

    assert {name for name, operation in OPERATIONS.items() if operation.changes} == changing
