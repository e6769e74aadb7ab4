"""CORS: pages of any site read what needs no cookie, and nothing of a page of this site."""

from __future__ import annotations

import httpx
import pytest

from mcp_server.http.responses import CORS_METHODS
from rest_facade.routes import ROUTES
from tests.mcp_server.http.edges import FIRST, ask, edge_of, scope_of
from tests.service import Service

FOREIGN = {"Origin": "https://evil.example"}
WELL_KNOWN = "/.well-known/oauth-"

ENDPOINTS = ("/mcp", "/mcp/", "/mcp/demo", "/mcp/extended", "/mcp/nothing")
METADATA = ("protected-resource/mcp", "protected-resource", "authorization-server")
OPEN = (
    *((path, "POST") for path in ENDPOINTS),
    *(("/api/v1", "GET"), ("/api/v1/tickers", "PATCH"), ("/api/v1/nothing", "PUT")),
    *((path, "GET") for path in ("/llms.txt", *(WELL_KNOWN + name for name in METADATA))),
    *((f"/oauth/{name}", "POST") for name in ("register", "token", "revoke")),
)
FIELDS = ("allow-origin", "allow-methods", "allow-headers", "max-age", "expose-headers")
PAGES = (
    *("/", "/docs", "/method", "/sign-in", "/sign-up", "/keys", "/watchlist", "/changes", "/usage"),
    *("/oauth/authorize", "/oauth", "/oauth/tokens", "/account/password", "/nothing", "/mcpx"),
)


def cors_of(answer: httpx.Response) -> dict[str, str]:
    return {n: v for n, v in answer.headers.items() if n.startswith("access-control-")}


def preflight(service: Service, path: str, method: str) -> httpx.Response:
    """What a browser is told that asks first, of a host that nobody knows."""
    headers = {
        **FOREIGN,
        "Host": "other.example",
        "Authorization": "Bearer bad",
        "Access-Control-Request-Method": method,
        "Access-Control-Request-Headers": "authorization,x-odd",
        "Access-Control-Request-Private-Network": "true",
    }
    return httpx.options(service.url + path, headers=headers)


def words(field: str) -> set[str]:
    return {word.strip().lower() for word in field.split(",")}


@pytest.mark.parametrize(("path", "method"), OPEN)
def test_a_browser_that_asks_first_is_told_what_a_page_may_send(
    service: Service, path: str, method: str
) -> None:
    """Every origin is told the same, credentials are never admitted, nothing is repeated, and
    no page of the internet is let into a private network.
    """
    answer = preflight(service, path, method)
    fields = cors_of(answer)

    assert (answer.status_code, answer.content) == (204, b"")
    assert fields.keys() == {f"access-control-{name}" for name in FIELDS}
    assert fields["access-control-allow-origin"] == "*"
    assert method.lower() in words(fields["access-control-allow-methods"])
    named = words(fields["access-control-allow-headers"])
    assert named >= {"authorization", "content-type", "accept", "if-match", "if-none-match"}
    assert named >= {"mcp-protocol-version", "mcp-method", "x-service-client", "last-event-id", "*"}
    assert int(fields["access-control-max-age"]) > 0
    assert "evil.example" not in str(answer.headers)
    assert "x-odd" not in str(answer.headers)
    assert answer.headers.keys().isdisjoint({"vary", "www-authenticate"})


@pytest.mark.parametrize("path", PAGES)
def test_no_page_of_this_site_is_open_to_another(service: Service, path: str) -> None:
    """Only a person's own visit reaches /authorize."""
    for answer in (
        preflight(service, path, "POST"),
        httpx.get(service.url + path, headers=FOREIGN),
        httpx.post(service.url + path, headers=FOREIGN),
    ):
        assert cors_of(answer) == {}
        assert answer.status_code != 204


def test_options_that_ask_for_nothing_are_refused_as_any_other_method(service: Service) -> None:
    for path in ("/mcp", "/api/v1/me", "/oauth/token"):
        answer = httpx.options(service.url + path, headers=FOREIGN)
        assert answer.status_code == 405
        assert answer.headers["allow"]


@pytest.mark.parametrize(
    ("method", "path", "more", "status"),
    [
        ("GET", "/api/v1/families", {}, 200),
        ("GET", "/api/v1/families", {"If-None-Match": "*"}, 304),
        ("GET", "/api/v1/me", {}, 401),
        ("GET", "/api/v1/families/x/stats", {}, 404),
        ("GET", "/api/v1/nothing", {}, 404),
        ("DELETE", "/api/v1/tickers", {}, 405),
        ("GET", "/llms.txt", {}, 200),
        ("GET", "/llms.txt?" + "a" * 9000, {}, 414),
        ("GET", "/mcp", {}, 405),
        ("GET", "/mcp", {"Accept": "text/html"}, 405),
        ("POST", "/mcp", {}, 401),
        ("POST", "/mcp", {"Authorization": "Bearer pso_at_x"}, 401),
        ("POST", "/mcp/demo", {"Host": "evil.example"}, 421),
        ("POST", "/mcp/nothing", {}, 404),
        ("GET", "/.well-known/oauth-authorization-server", {}, 200),
        ("GET", "/.well-known/nothing", {}, 404),
        ("POST", "/oauth/register", {}, 400),
        ("POST", "/oauth/token", {}, 400),
        ("GET", "/oauth/token", {}, 405),
        ("POST", "/oauth/revoke", {}, 400),
    ],
)
def test_a_page_may_read_every_answer_and_the_fields_that_it_needs(
    service: Service,
    method: str,
    path: str,
    more: dict[str, str],
    status: int,
) -> None:
    """The fields are the same with and without an Origin, so that any cache may keep them."""
    for headers in ({}, FOREIGN, {**FOREIGN, "Cookie": "session=x"}):
        answer = httpx.request(method, service.url + path, headers={**headers, **more})
        fields = cors_of(answer)

        assert answer.status_code == status
        assert set(fields) == {"access-control-allow-origin", "access-control-expose-headers"}
        assert fields["access-control-allow-origin"] == "*"
        exposed = words(fields["access-control-expose-headers"])
        assert exposed >= {"www-authenticate", "etag", "ratelimit", "ratelimit-policy"}
        assert "retry-after" in exposed
        assert "origin" not in words(answer.headers.get("vary", ""))


def test_every_method_of_the_facade_may_be_used_by_a_page() -> None:
    assert {route.method for route in ROUTES} | {"HEAD"} == {
        method.upper() for method in words(CORS_METHODS["/api/v1"].decode())
    }


async def test_who_asks_first_out_of_bounds_is_refused() -> None:
    long = scope_of("/mcp", method="OPTIONS", headers=FIRST, query_string=b"a" * 9000)

    assert (await ask(edge_of(None), long)).status == 414
