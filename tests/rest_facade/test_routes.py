"""The REST routes: addresses, credentials, bodies and the one Error shape."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from mcp_server.operations.errors import CATALOGUE
from mcp_server.operations.table import OPERATIONS
from rest_facade.routes import ROUTES
from tests.service import Service, new_key, serving

KEYED_PATHS = [
    ("GET", "/tickers"),
    ("PUT", "/tickers"),
    ("GET", "/tickers/AAPL/patterns"),
    ("GET", "/tickers/AAPL/history"),
    ("GET", "/tickers/AAPL/chart.png"),
]


def check_error(answer: httpx.Response, code: str) -> None:
    body = answer.json()
    assert body["error"] == code
    assert answer.status_code == CATALOGUE[code].status
    assert {"error", "message", "fix", "docs_url"} <= set(body) <= {
        "error", "message", "fix", "docs_url", "details"
    }  # fmt: skip


def test_every_route_is_reached_by_its_own_method(service: Service) -> None:
    for route in ROUTES:
        path = route.path.format(symbol="GOOG", family="triangle")
        answer = service.request(route.method, path)
        assert answer.status_code in (200, 400)


@pytest.mark.parametrize(("method", "path"), KEYED_PATHS)
def test_a_keyed_route_without_a_key_is_missing_api_key(
    service: Service, method: str, path: str
) -> None:
    check_error(service.request(method, path, key=""), "missing_api_key")


@pytest.mark.parametrize(("method", "path"), [*KEYED_PATHS, ("GET", "/families")])
def test_a_bad_key_is_invalid_everywhere_and_starts_no_sign_in(
    service: Service, method: str, path: str
) -> None:
    answer = service.request(method, path, key="ps_live_" + "x" * 48)

    check_error(answer, "invalid_api_key")
    assert "www-authenticate" not in answer.headers


@pytest.mark.parametrize(
    "header", [b"Basic YTpi", b"Bearer", b"", b"Bearer a b", b"Digest x", b"Bearer \xe9"]
)
def test_a_malformed_authorization_header_is_401(service: Service, header: bytes) -> None:
    answer = httpx.get(f"{service.base}/tickers", headers=[(b"Authorization", header)])

    assert answer.status_code == 401


def test_two_authorization_headers_are_401(service: Service) -> None:
    headers = [("Authorization", f"Bearer {service.key}")] * 2
    assert httpx.get(f"{service.base}/tickers", headers=headers).status_code == 401


def test_the_scheme_is_read_in_any_case(service: Service) -> None:
    answer = service.get("/tickers", key="", headers={"Authorization": f"bearer {service.key}"})
    assert answer.status_code == 200


@pytest.mark.parametrize("place", ["query", "cookie", "x-api-key"])
def test_a_key_anywhere_but_in_the_header_does_not_count(service: Service, place: str) -> None:
    options = {
        "query": {"params": {"access_token": service.key, "api_key": service.key}},
        "cookie": {"headers": {"Cookie": f"key={service.key}"}},
        "x-api-key": {"headers": {"X-API-Key": service.key}},
    }[place]
    check_error(service.get("/tickers", key="", **options), "missing_api_key")


@pytest.mark.proves("BASE-slash")
def test_trailing_slashes_are_optional_without_a_redirect(service: Service) -> None:
    for path in ("/tickers", "/tickers/AAPL/patterns", "/families", "/families/triangle/stats"):
        with_slash = service.get(f"{path}/")
        assert with_slash.status_code == 200
        assert with_slash.json() == service.get(path).json()


def test_an_unknown_address_is_not_found(service: Service) -> None:
    check_error(service.get("/nothing"), "not_found")


def test_a_wrong_method_is_405_and_names_the_right_ones(service: Service) -> None:
    answer = service.request("DELETE", "/tickers")

    check_error(answer, "method_not_allowed")
    assert set(answer.headers["allow"].replace(" ", "").split(",")) == {
        "GET",
        "HEAD",
        "PUT",
        "PATCH",
    }


def test_head_answers_as_get_without_a_body(service: Service) -> None:
    answer = service.request("HEAD", "/families")

    assert answer.status_code == 200
    assert answer.content == b""


def test_a_repeated_parameter_takes_its_last_value_and_an_unknown_one_is_ignored(
    service: Service,
) -> None:
    path = "/tickers/MSFT/history"
    assert service.get(f"{path}?limit=x&limit=2&colour=red").json()["count"] == 2


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"1", b'"x"', b"\xff", b"[" * 5000])
def test_a_body_that_is_no_json_object_is_refused_and_changes_nothing(
    service: Service, body: bytes
) -> None:
    before = service.get("/tickers").json()

    check_error(service.request("PUT", "/tickers", content=body), "bad_request")
    assert service.get("/tickers").json() == before


@pytest.mark.parametrize("symbols", [None, "AAPL", 5, [5], [None], {"a": 1}])
def test_symbols_that_are_no_list_of_texts_are_refused_by_name(
    service: Service, symbols: object
) -> None:
    answer = service.request("PUT", "/tickers", json={"symbols": symbols})

    check_error(answer, "bad_request")
    assert "symbols" in answer.json()["message"]


def test_a_body_over_64_kilobytes_is_413(service: Service) -> None:
    body = b'{"symbols": ["' + b"A" * 66_000 + b'"]}'
    check_error(service.request("PUT", "/tickers", content=body), "payload_too_large")


@pytest.mark.proves("TICK-errors-symbols")
def test_the_first_kind_of_fault_among_symbols_is_named_alone(service: Service) -> None:
    answer = service.request("PUT", "/tickers", json={"symbols": ["AA-PL", "NOPE", "AAPL"]})
    check_error(answer, "invalid_symbol")
    assert answer.json()["details"] == {"rejected": ["AA-PL"], "nearest": {"AA-PL": ["AAPL"]}}

    answer = service.request("PUT", "/tickers", json={"symbols": ["NOPE", "AAPL", "NADA"]})
    check_error(answer, "unknown_symbol")
    assert answer.json()["details"] == {"unknown": ["NOPE", "NADA"]}


def test_a_known_symbol_without_bars_can_be_tracked_and_is_not_covered(service: Service) -> None:
    known = service.get("/tickers").json()["tickers"][0]["symbol"]
    key = new_key(service.settings, "bare@example.com", tracked=())

    answer = service.request("PUT", "/tickers", key=key, json={"symbols": [known, "INTC"]})

    assert answer.json()["tickers"] == [
        {"symbol": known, "covered": True},
        {"symbol": "INTC", "covered": False},
    ]
    patterns = service.get("/tickers/INTC/patterns", key=key).json()
    assert patterns["available"] is False
    assert patterns["setups"] == []
    assert "reason" not in patterns
    history = service.get("/tickers/INTC/history", key=key).json()
    assert (history["available"], history["occurrences"], history["total"]) == (False, [], 0)


@pytest.mark.proves("ERR-ticker_not_tracked")
def test_an_untracked_ticker_is_refused_with_the_free_slots(service: Service) -> None:
    answer = service.get("/tickers/FB/patterns")

    check_error(answer, "ticker_not_tracked")
    assert answer.json()["fix"].startswith("196 of 200 slots are free")


def test_before_the_first_night_everything_answers_and_nothing_is_available(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with serving(tmp_path_factory.mktemp("bare")) as bare:
        families = bare.get("/families", key="").json()
        patterns = bare.get("/tickers/AAPL/patterns").json()
        demo = bare.get("/demo/AAPL", key="").json()

    assert families["as_of_session"] is None
    assert families["data_version"] is None
    assert [entry["track_record"] for entry in families["families"]] == [None] * 5
    assert patterns["available"] is False
    assert demo["available"] is False


@pytest.mark.proves("ERR-rate_limited")
def test_a_limited_key_is_told_when_to_come_back(data_dir: Path) -> None:
    with serving(data_dir, key_per_minute=2, keyless_per_minute=1) as small:
        assert small.get("/tickers").status_code == 200
        assert small.get("/families").status_code == 200
        refused = small.get("/tickers")
        assert small.get("/families", key="").status_code == 200
        refused_without_key = small.get("/families", key="")

    for answer in (refused, refused_without_key):
        check_error(answer, "rate_limited")
        wait = answer.json()["details"]["retry_after_seconds"]
        assert answer.headers["retry-after"] == str(wait)
        assert 1 <= wait <= 60


@pytest.mark.parametrize("trusted", ["", "127.0.0.1"])
def test_a_forwarded_address_counts_only_from_a_trusted_proxy(data_dir: Path, trusted: str) -> None:
    with serving(data_dir, keyless_per_minute=1, trusted_proxies=trusted) as small:
        first = small.get("/families", key="", headers={"X-Forwarded-For": "192.0.2.1"})
        other = small.get("/families", key="", headers={"X-Forwarded-For": "192.0.2.2"})

    assert first.status_code == 200
    assert other.status_code == (200 if trusted else 429)


def test_what_does_not_change_is_not_sent_twice(service: Service) -> None:
    setup = service.get("/demo/GOOG").json()["setups"][0]["setup_id"]
    for path in ("/families", "/tickers/AAPL/patterns", f"/demo/GOOG/chart.png?setup_id={setup}"):
        first = service.get(path)
        again = service.get(path, headers={"If-None-Match": f'"other", {first.headers["etag"]}'})
        other = service.get(path, headers={"If-None-Match": '"other"'})

        assert again.status_code == 304
        assert again.content == b""
        assert again.headers["etag"] == first.headers["etag"]
        assert other.content == first.content


def test_every_answer_says_what_is_left(data_dir: Path) -> None:
    with serving(data_dir, key_per_minute=3, key_per_day=50, keyless_per_minute=9) as small:
        keyed = small.get("/me")
        refused = small.get("/tickers/FB/patterns")
        keyless = small.get("/families", key="")

    assert keyed.headers["ratelimit-policy"] == '"minute";q=3;w=60, "day";q=50;w=86400'
    assert keyed.headers["ratelimit"].startswith('"minute";r=2;t=60, "day";r=49;t=')
    assert refused.headers["ratelimit"].startswith('"minute";r=1;t=')
    assert keyless.headers["ratelimit"] == '"keyless-minute";r=8;t=60'


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
