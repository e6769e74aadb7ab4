"""Calls: requests to every surface, valid ones changed, as Hypothesis strategies of their bytes."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote, urlencode

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from rest_facade.routes import ROUTES
from tests.agent import ERAS, INITIALIZE, envelope
from tests.contract.cases import ANSWERED
from tests.qa.fuzz.exchange import request
from tests.qa.fuzz.hostile import changed, damaged, encoded, mostly, texts, values

LEGACY = ("2025-03-26", "2025-06-18", "2025-11-25", None)
METHODS: tuple[tuple[str, dict[str, Any]], ...] = (
    *(("tools/call", {"name": c.tool, "arguments": dict(c.arguments)}) for c in ANSWERED),
    ("initialize", INITIALIZE),
    ("ping", {}),
    ("tools/list", {"cursor": "x"}),
    ("prompts/list", {}),
    ("resources/list", {}),
    ("resources/templates/list", {}),
    ("server/discover", {}),
    ("notifications/initialized", {}),
    ("logging/setLevel", {"level": "debug"}),
    ("completion/complete", {"ref": {"type": "ref/prompt", "name": "x"}}),
)
JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
media = mostly([JSON], ["text/plain", "application/json; charset=utf-16", "", "multipart/x"])
accepts = mostly([JSON, "application/json, text/event-stream", "*/*", ""], ["text/html", "a;q=b"])
keys = mostly(["Bearer @KEY@"], ["Bearer x", "Bearer", "Basic eDp4", None])
forms_media = mostly([FORM], [JSON, "", "multipart/form-data"])


@st.composite
def agent_calls(draw: st.DrawFn, *, modern: bool) -> bytes:
    """A message to an MCP endpoint in one of the eras, usually changed in one place."""
    method, params = draw(st.sampled_from(METHODS))
    message: Any = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    headers: dict[str, str | None] = {
        "Content-Type": draw(media),
        "Accept": draw(accepts),
        "Authorization": draw(keys),
    }
    if modern:
        message["params"] = {**params, "_meta": envelope({})}
        headers |= {"MCP-Protocol-Version": ERAS[1], "Mcp-Method": method}
        headers["Mcp-Name"] = params.get("name")
    else:
        headers["MCP-Protocol-Version"] = draw(st.sampled_from(LEGACY))
    if draw(st.booleans()):
        message = draw(changed(message))
    if draw(st.integers(0, 9)) == 0:
        name = draw(st.sampled_from(sorted(headers)))
        headers[name] = draw(texts.map(_field))
    if draw(st.integers(0, 9)) == 0:
        message = [message] * draw(st.sampled_from([0, 1, 50]))
    body = encoded(message)
    if draw(st.integers(0, 5)) == 0:
        body = draw(damaged(body))
    path = draw(st.sampled_from(["/mcp", "/mcp/demo", "/mcp/", "/mcp/demo/"]))
    verb = draw(mostly(["POST"], ["GET", "DELETE", "PUT", "OPTIONS"]))
    return request(verb, path, {k: v for k, v in headers.items() if v is not None}, body)


def _field(text: str) -> str:
    """A text as the value of a header field, in which no line can end."""
    return quote(text[:3000], safe=" /*;,=:@[]{}'")


PATHS = (
    *("/", "/llms.txt", "/openapi.json", "/{}"),
    *dict.fromkeys(re.sub(r"\{\w+\}", "{}", route.path) for route in ROUTES),
)
SYMBOLS = ("AAPL", "IBM", "msft", "goog", "triangle")
PARAMETERS = ("a", *dict.fromkeys(name for route in ROUTES for name in route.query))
PREDICATES: tuple[dict[str, Any], ...] = (
    {"kind": "rsi", "op": "<", "value": 40},
    {"kind": "direction", "value": "bullish"},
    {"kind": "performance", "op": ">=", "value": 0.5, "period": "ytd"},
    {"kind": "price_above_sma", "value": True, "period": 50},
    {"kind": "industry", "value": "Food & Beverage"},
    {"kind": "distance_from_low", "op": "=", "value": -3, "period": "1w"},
)
predicates: SearchStrategy[bytes] = (
    st.lists(st.sampled_from(PREDICATES), max_size=6).flatmap(changed) | values
).map(encoded)
filters: SearchStrategy[bytes] = predicates | predicates.flatmap(damaged)


@st.composite
def rest_calls(draw: st.DrawFn) -> bytes:
    """A call below the REST base with hostile symbols, queries, bodies and headers."""
    symbol = draw(st.sampled_from(SYMBOLS) | texts.map(lambda text: quote(text[:8000], safe="")))
    path = "/api/v1" + draw(st.sampled_from(PATHS)).format(symbol)
    query = draw(st.lists(st.tuples(st.sampled_from(PARAMETERS), texts), max_size=4))
    if draw(st.integers(0, 3)) == 0:
        query.append(("filters", draw(filters).decode("latin-1")))
    if query:
        path += "?" + urlencode(query)[:70_000]
    headers: dict[str, str | None] = {
        "Authorization": draw(keys),
        "Accept-Encoding": draw(st.sampled_from(["gzip", "zstd", "br;q=x", "*;q=0", None])),
        "If-None-Match": draw(st.sampled_from(['"x"', "*", "W/" * 3000, None])),
        "X-Service-Client": draw(texts.map(_field)),
        "Content-Type": draw(mostly([JSON], ["text/plain", "", None])),
    }
    tickers = draw(
        st.sampled_from(
            [
                {"symbols": ["AAPL", "IBM"]},
                {"add": ["GOOG"], "remove": ["IBM"]},
                {"text": '###A,NASDAQ:AAPL,"Symbol";IBM'},
            ]
        )
    )
    body = encoded(draw(changed(tickers))) if draw(st.booleans()) else b""
    verb = draw(mostly(["GET", "GET", "PUT", "PATCH", "POST"], ["HEAD", "TRACE", "BREW"]))
    return request(verb, path, {k: v for k, v in headers.items() if v is not None}, body)


REGISTRATION: dict[str, Any] = {
    "client_name": "Fuzz",
    "redirect_uris": ["http://127.0.0.1:33418/callback"],
    "grant_types": ["authorization_code", "refresh_token"],
    "response_types": ["code"],
    "token_endpoint_auth_method": "none",
    "scope": "patterns",
    "logo_uri": "https://example.com/logo.png",
}
AUTHORIZATION = {
    "response_type": "code",
    "client_id": "none",
    "redirect_uri": "http://127.0.0.1:33418/callback",
    "code_challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
    "code_challenge_method": "S256",
    "state": "xyz",
    "scope": "patterns",
    "resource": "http://@HOST@/mcp",
}
TOKEN = {
    "grant_type": "authorization_code",
    "code": "x" * 43,
    "refresh_token": "y" * 43,
    "token": "z" * 43,
    "token_type_hint": "refresh_token",
    "code_verifier": "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
    "client_id": "none",
    "client_secret": "w" * 43,
    "redirect_uri": "http://127.0.0.1:33418/callback",
}
TOKEN_LENGTH = 64
"""Of the token of a form that may be posted again; one that works once is longer."""


@st.composite
def fields_of(draw: st.DrawFn, given: dict[str, str]) -> list[tuple[str, str]]:
    """The fields of a form, of which some are hostile, absent or there twice."""
    fields = list(given.items())
    for _ in range(draw(st.integers(0, 2))):
        name = draw(st.sampled_from(sorted(given)) | texts)
        fields = [field for field in fields if field[0] != name or draw(st.booleans())]
        fields.append((name, draw(texts)))
    return fields


@st.composite
def oauth_calls(draw: st.DrawFn, clients: tuple[str, ...]) -> bytes:
    """A registration, or a request to authorize, for a token, or to revoke one."""
    kind = draw(st.sampled_from(["register", "authorize", "token", "revoke"]))
    path = f"/oauth/{kind}"
    client = draw(st.sampled_from(clients))
    if kind == "register":
        body = encoded(draw(changed(REGISTRATION)))
        if draw(st.integers(0, 5)) == 0:
            body = draw(damaged(body))
        return request("POST", path, {"Content-Type": draw(media)}, body)
    if kind == "authorize":
        given = draw(fields_of({**AUTHORIZATION, "client_id": client}))
        cookie = draw(st.sampled_from(["@SESSION@", "", "session=x; session=y; visit=\x7f"]))
        query = urlencode(given, safe="@")[:70_000]
        return request("GET", f"{path}?{query}", {"Cookie": cookie})
    headers = {"Content-Type": draw(forms_media)}
    if draw(st.booleans()):
        headers["Authorization"] = draw(st.sampled_from(["Basic eDp4", "Basic ~", "Basic Og=="]))
    body = urlencode(draw(fields_of({**TOKEN, "client_id": client})), errors="replace").encode()
    return request("POST", path, headers, body)


@st.composite
def page_calls(draw: st.DrawFn, forms: tuple[tuple[str, dict[str, str]], ...]) -> bytes:
    """A visit to a page, or one of the site's forms filled in by somebody hostile."""
    action, given = draw(st.sampled_from(forms))
    cookie = draw(mostly(["@SESSION@", "visit=fuzz"], ["", "session=" + "x" * 5000]))
    headers = {
        "Cookie": cookie,
        "Accept": draw(st.sampled_from(["text/html", "*/*"])),
        "Content-Type": draw(forms_media),
    }
    if draw(st.integers(0, 4)) == 0:
        path = (
            action.partition("?")[0]
            + "?"
            + urlencode(draw(fields_of({"next": "/keys", "page": "1"})))[:9000]
        )
        return request("GET", path, headers)
    token = "@TOKEN@" if len(given.get("token", "")) == TOKEN_LENGTH else "@ONCE@"
    fields = draw(fields_of({**given, "token": token}))
    return request("POST", action, headers, urlencode(fields, safe="@").encode())


VALID = (
    request("GET", "/api/v1/demo"),
    request("GET", "/api/v1/me", {"Authorization": "Bearer @KEY@"}),
    request(
        "POST", "/mcp/demo", {"Content-Type": JSON}, b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    ),
    request("POST", "/oauth/token", {"Content-Type": FORM}, b"grant_type=refresh_token"),
    b"POST /mcp/demo HTTP/1.1\r\nHost: @HOST@\r\nContent-Type: application/json\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n5\r\n[1,2]\r\n0\r\n\r\n",
    b"GET /docs HTTP/1.1\r\nHost: @HOST@\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
    b"POST /oauth/register HTTP/1.1\r\nHost: @HOST@\r\nExpect: 100-continue\r\n"
    b"Content-Length: 2\r\nConnection: close\r\n\r\n{}",
)
LINES = (
    *(b"Host: evil.test\r\n", b"Content-Length: 5\r\n", b"Content-Length: -1\r\n"),
    *(b"Transfer-Encoding: chunked\r\n", b"Transfer-Encoding: identity, chunked\r\n"),
    *(b" folded\r\n", b"a: b\r\n" * 200, b"x: " + b"y" * 70_000 + b"\r\n", b": empty\r\n"),
    *(b"Connection: keep-alive\r\n", b"Upgrade: h2c\r\n", b"Content-Length: 5, 5\r\n"),
    *(b"Cookie: " + b"a=b; " * 1000 + b"\r\n", b"X-Forwarded-For: 1.2.3.4\r\n", b"a\0b: c\r\n"),
)


@st.composite
def raw_bytes(draw: st.DrawFn) -> bytes:
    """HTTP/1.1 as bytes: changed heads and framing, several requests, or no HTTP at all."""
    kind = draw(st.integers(0, 9))
    if kind == 0:
        return draw(st.binary(min_size=1, max_size=200))
    data = draw(st.sampled_from(VALID))
    if kind < 5:
        line, _, rest = data.partition(b"\r\n")
        extra = b"".join(draw(st.lists(st.sampled_from(LINES), min_size=1, max_size=3)))
        data = line + b"\r\n" + extra + rest
    if kind < 3:
        more = draw(st.lists(st.sampled_from(VALID), min_size=1, max_size=20))
        data = b"".join(one.replace(b"Connection: close\r\n", b"") for one in [data, *more])
    return draw(damaged(data)) if kind > 3 else data
