"""Lists of other programs: importing one into the tracked tickers, and exporting these."""

from __future__ import annotations

import secrets
from typing import Any

import httpx
import pytest

from store.accounts.accounts import AccountPlan
from tests.contract.market import MANY, Market
from tests.service import Service, new_key


def send(service: Service, key: str, body: str | bytes, media_type: str) -> httpx.Response:
    content = body.encode() if isinstance(body, str) else body
    headers = {"Content-Type": media_type}
    return service.request("POST", "/tickers/import", key=key, content=content, headers=headers)


def imported(service: Service, key: str, text: str) -> Any:
    answer = service.request("POST", "/tickers/import", key=key, json={"text": text})
    return answer.raise_for_status().json()


def test_what_is_known_is_added_and_the_rest_is_named_with_the_nearest_symbols(
    service: Service,
) -> None:
    key = service.new_key(tracked=("MSFT",))

    answer = imported(service, key, "###TECH,NASDAQ:AAPL,NASDAQ:GOGO,NYSE:MSFT,NYSE:ZZZZZ,IBM")

    assert answer["added"] == ["AAPL", "IBM"]
    assert [ticker["symbol"] for ticker in answer["tickers"]] == ["MSFT", "AAPL", "IBM"]
    assert answer["unknown"] == [
        {"given": "NASDAQ:GOGO", "nearest": ["GOOG"]},
        {"given": "NYSE:ZZZZZ", "nearest": []},
    ]
    assert (answer["over_cap"], answer["removed"], answer["count"]) == ([], [], 3)
    assert service.tracked(key) == ["MSFT", "AAPL", "IBM"]


def test_a_list_may_be_sent_as_a_file(service: Service) -> None:
    for media_type, body in (
        ("text/plain", "NASDAQ:AAPL\nNYSE:IBM\n"),
        ("text/csv; charset=utf-8", '"Ticker","Company"\r\n"AAPL","Apple"\r\n"IBM","IBM"\r\n'),
        ("Text/Plain", "Symbol\tName\nAAPL\tApple\nIBM\tIBM".encode("utf-16")),
    ):
        key = service.new_key(tracked=())

        assert send(service, key, body, media_type).json()["added"] == ["AAPL", "IBM"]
        assert service.tracked(key) == ["AAPL", "IBM"]


@pytest.mark.parametrize(
    ("plan", "cap"), [(AccountPlan.PREMIUM_PLUS, 200), (AccountPlan.PREMIUM, 50)]
)
def test_as_many_are_added_as_there_is_room_for(
    market: Market, plan: AccountPlan, cap: int
) -> None:
    key = market.service.new_key(plan, ("M9", "M300"))

    answer = imported(market.service, key, " ".join(MANY))

    added = [symbol for symbol in MANY if symbol not in ("M9", "M300")]
    assert answer["added"] == added[: cap - 2]
    assert answer["over_cap"] == added[cap - 2 :]
    assert (answer["count"], answer["cap"]) == (cap, cap)
    assert market.service.tracked(key) == ["M9", "M300", *added[: cap - 2]]


def test_a_list_that_cannot_be_read_changes_nothing(service: Service) -> None:
    key = service.new_key(tracked=("MSFT",))
    for body, media_type, status, code in (
        ("", "text/plain", 400, "bad_request"),
        ("### NOTHING", "text/csv", 400, "bad_request"),
        (" ".join(f"S{n}" for n in range(1001)), "text/plain", 400, "bad_request"),
        ("{}", "application/json", 400, "bad_request"),
        ('{"text": ["AAPL", "IBM"]}', "application/json", 400, "bad_request"),
        ("AAPL", "application/json", 400, "bad_request"),
        ("AAPL " * 20_000, "text/plain", 413, "payload_too_large"),
    ):
        answer = send(service, key, body, media_type)

        assert (answer.status_code, answer.json()["error"]) == (status, code), body[:20]
        assert service.tracked(key) == ["MSFT"]


def test_a_key_that_may_only_read_exports_and_imports_nothing(service: Service) -> None:
    email = f"{secrets.token_hex(4)}@example.com"
    new_key(service.settings, email, tracked=("MSFT", "IBM"))
    _, key = service.keys(lambda keys: keys.create(email, "reader", read_only=True))

    refused = service.request("POST", "/tickers/import", key=key, json={"text": "AAPL"})

    assert (refused.status_code, refused.json()["error"]) == (403, "forbidden")
    assert service.get("/tickers/export", key=key).json()["text"] == "NASDAQ:MSFT,NYSE:IBM\n"


def test_an_import_keeps_to_the_list_that_its_sender_has_seen(service: Service) -> None:
    key = service.new_key(tracked=("MSFT",))
    seen = service.get("/tickers", key=key).headers["etag"]
    imported(service, key, "AAPL")

    answer = service.request(
        "POST", "/tickers/import", key=key, json={"text": "IBM"}, headers={"If-Match": seen}
    )

    assert (answer.status_code, answer.json()["error"]) == (412, "precondition_failed")
    assert service.tracked(key) == ["MSFT", "AAPL"]


def test_the_list_is_exported_for_tradingview_and_as_csv(service: Service) -> None:
    key = service.new_key(tracked=("MSFT", "GONE", "IBM"))

    plain = service.get("/tickers/export", key=key).json()
    table = service.get("/tickers/export", key=key, params={"format": "CSV"}).json()

    assert (plain["format"], plain["count"]) == ("tradingview", 3)
    assert plain["text"] == "NASDAQ:MSFT,GONE,NYSE:IBM\n"
    assert table["format"] == "csv"
    assert table["text"].splitlines()[:3] == [
        "Symbol,Exchange,Name",
        "MSFT,XNAS,Microsoft Corporation",
        "GONE,,",
    ]
    assert plain["as_of_session"] == table["as_of_session"] is not None
    assert service.get("/tickers/export", key=key, params={"format": "pdf"}).status_code == 400
