"""Authorization requests (RFC 6749 section 4.1.1): what the pages must show or refuse."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_server.calls.errors import PageRefusal
from oauth.authorization import RedirectError
from store.accounts.audit import Actor
from store.accounts.grants import Grants
from tests.accounts import new_form
from tests.oauth.conversation import (
    CALLBACK,
    CHALLENGE,
    Host,
    answer_in,
    authorization_of,
    new_host,
)
from tests.service import Service, on_database

HTTPS = "https://app.example.com/cb"


def error_in(host: Host, query: list[tuple[str, str]]) -> tuple[str, list[str] | None]:
    """Error and state of the complete response that is sent to the client of a request."""
    with pytest.raises(RedirectError) as caught:
        host.check(query)
    answer = answer_in(caught.value.location)
    assert caught.value.location.startswith(host.redirect_uri)
    assert answer["iss"] == [host.service.url]
    assert answer["error"] == [caught.value.error]
    assert "code" not in answer
    return caught.value.error, answer.get("state")


@pytest.mark.proves("OAUTH-authorize", "OAUTH-approve")
def test_an_approval_answers_with_code_state_and_issuer(host: Host) -> None:
    location = host.approve()
    answer = answer_in(location)

    assert location.startswith(CALLBACK + "?code=pso_ac_")
    assert set(answer) == {"code", "state", "iss"}
    assert answer["state"] == ["xyz"]
    assert answer["iss"] == [host.service.url]


@pytest.mark.parametrize(
    "state", ["0", "a&b=c#d?e+f%20g", "é 名前 \u202e", "x" * 2000, "a\r\nSet-Cookie: b=c", " "]
)
def test_the_state_comes_back_unchanged(host: Host, state: str) -> None:
    location = host.approve(host.query(state=state))

    assert answer_in(location)["state"] == [state]
    assert location.isascii()
    assert location.isprintable()


def test_without_a_state_none_comes_back(host: Host) -> None:
    assert set(answer_in(host.approve(host.query(state=None)))) == {"code", "iss"}


@pytest.mark.parametrize("client_id", [None, "", "unknown", "' OR 1=1 --", "\0", "é"])
def test_an_unknown_client_is_told_on_a_page(host: Host, client_id: str | None) -> None:
    with pytest.raises(PageRefusal, match="not registered") as caught:
        host.check(host.query(client_id=client_id))
    assert (caught.value.status, caught.value.retry_after) == (400, None)


@pytest.mark.parametrize(
    "uri", ["cursor://x/cb", "com.example.app:/cb", "https://a.example/cb?x=%20y&z=a+b"]
)
def test_the_answer_begins_with_the_registered_address_byte_for_byte(
    service: Service, uri: str
) -> None:
    location = (host := new_host(service, redirect_uris=[uri])).approve(host.query())

    assert location.startswith(uri + ("&" if "?" in uri else "?") + "code=")


@pytest.mark.parametrize("uri", [HTTPS + "/", "http://127.0.0.1:33418/callback", "//x", ""])
def test_an_address_that_is_not_registered_is_told_on_a_page(service: Service, uri: str) -> None:
    """Which other texts are the same address is proven by test_redirects.py."""
    host = new_host(service, redirect_uris=[HTTPS, "https://other.example.com/cb"])

    with pytest.raises(PageRefusal, match="address"):
        host.check(host.query(redirect_uri=uri))


def test_the_address_may_be_left_out_only_when_there_is_one(service: Service, host: Host) -> None:
    two = new_host(service, redirect_uris=[CALLBACK, HTTPS])

    assert host.check(host.query(redirect_uri=None)).redirect_uri == CALLBACK
    with pytest.raises(PageRefusal):
        two.check(two.query(redirect_uri=None))


FAULTS: dict[str, tuple[tuple[str, tuple[str | None, ...]], ...]] = {
    "invalid_request": (
        ("code_challenge_method", (None, "plain", "S512", "s256")),
        ("code_challenge", (None, "", CHALLENGE[:42], "x" * 129, CHALLENGE[:42] + "!")),
        ("code_challenge", (CHALLENGE + "=", CHALLENGE + "\n")),
        ("response_type", (None, "")),
        ("response_mode", ("fragment", "form_post", "web_message")),
    ),
    "unsupported_response_type": (
        ("response_type", ("token", "code token", "id_token", 'a "quoted" \\ é')),
    ),
    "invalid_scope": (("scope", ("admin", "openid", "é", "PATTERNS")),),
    "invalid_target": (("resource", ("https://evil.example/mcp", "no url")),),
    "request_not_supported": (("request", ("eyJ",)),),
    "request_uri_not_supported": (("request_uri", ("https://evil.example/x",)),),
}


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        (name, value, error)
        for error, faults in FAULTS.items()
        for name, values in faults
        for value in values
    ],
)
def test_any_other_fault_is_told_to_the_client_with_state_and_issuer(
    host: Host, name: str, value: str | None, error: str
) -> None:
    assert error_in(host, host.query(**{name: value})) == (error, ["xyz"])


@pytest.mark.parametrize("name", ["response_type", "code_challenge", "state", "scope", "anything"])
def test_a_parameter_twice_is_refused(host: Host, name: str) -> None:
    query = [*host.query(scope="patterns", anything="1"), (name, "patterns")]

    assert error_in(host, query) == ("invalid_request", None if name == "state" else ["xyz"])


def test_the_same_resource_may_be_named_again(host: Host) -> None:
    """RFC 8707 lets a request name several."""
    ours = ("resource", host.service.mcp_url)

    assert host.check([*host.query(), ours, ours])
    other = [*host.query(), ours, ("resource", "https://other.example/mcp")]
    assert error_in(host, other) == ("invalid_request", ["xyz"])


@pytest.mark.parametrize("name", ["client_id", "redirect_uri"])
def test_a_client_or_address_twice_is_told_on_a_page(host: Host, name: str) -> None:
    query = host.query()

    with pytest.raises(PageRefusal):
        host.check([*query, (name, dict(query)[name])])


@pytest.mark.parametrize("scope", [None, "", "patterns", "patterns admin offline_access"])
def test_no_more_than_the_single_scope_is_granted(host: Host, scope: str | None) -> None:
    code = answer_in(host.approve(host.query(scope=scope)))["code"][0]

    assert host.exchange(code).json()["scope"] == "patterns"


@pytest.mark.parametrize("ending", ["/mcp", "/mcp/", "", "/"])
def test_the_resource_is_the_agent_endpoint_or_its_origin(host: Host, ending: str) -> None:
    assert host.check(host.query(resource=host.service.url + ending))


def test_scheme_and_host_of_the_resource_may_be_in_upper_case(host: Host) -> None:
    assert host.check(host.query(resource=f"{host.service.url.upper()}/mcp"))


@pytest.mark.parametrize("ending", ["/mcp#x", "/mcp//", "/mcp?x", "/MCP", "/mcpx", ".evil.example"])
def test_a_resource_that_only_looks_alike_is_refused(host: Host, ending: str) -> None:
    query = host.query(resource=host.service.url + ending)

    assert error_in(host, query) == ("invalid_target", ["xyz"])


def test_a_client_deleted_while_its_page_was_open_gets_no_code(
    host: Host, service: Service
) -> None:
    async def work(database: Any) -> None:
        authorization = authorization_of(service, database)
        request = await authorization.check(host.query())
        await Grants(database).delete_client(host.client_id)
        await authorization.approve(request, host.account_id, form=new_form(), actor=Actor("owner"))

    with pytest.raises(PageRefusal, match="no longer"):
        on_database(service, work)
