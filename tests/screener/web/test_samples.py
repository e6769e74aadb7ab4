"""The samples of the documentation: each route and tool, as the sample night answers it.

Run with `UPDATE_GOLDEN=1` to write the file again.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mcp_server.mcp.toolsets import EXTENDED
from rest_facade.routes import ROUTES
from screener import web
from screener.web.about.docs import FILE, HOME, load_samples
from tests.agent import call, connected
from tests.service import Service, copy_night, serving

PATH = Path(web.__file__).parent / FILE
MAX_LETTERS, FEW_LETTERS, MAX_LINES, DEEPEST = 600, 12, 190, 9
CODED = ("{", "iVBOR", "cursor:", "vscode:", "goose:")
"""How texts begin that nobody reads to the end."""

DOCUMENTS = ("/", "/llms.txt", "/skill.md", "/openapi.json")
QUERIES = {
    "/scan": "?status=all&limit=1",
    "/changes": "?limit=1",
    "/tickers/{symbol}/history": "?limit=1",
    "/universe": "?search=apple&limit=1",
}
BODIES: dict[str, Any] = {
    "PUT": {"symbols": ["MSFT", "AAPL", "GOOG"]},
    "POST": {"text": "###TECH,NASDAQ:INTC,NYSE:IBM,NASDAQ:APPL"},
    "PATCH": {"add": ["IBM"], "remove": ["GOOG"]},
}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "get_ticker_patterns": {"symbol": "AAPL"},
    "get_pattern_history": {"symbol": "AAPL", "limit": 1},
    "get_pattern_chart": {"symbol": "AAPL"},
    "list_tracked_tickers": {},
    "set_tracked_tickers": {"symbols": ["MSFT", "AAPL", "GOOG"]},
    "get_family_track_record": {"family": "triangle"},
    "demo": {"symbol": "AAPL"},
    "get_ticker_record": {"symbol": "AAPL"},
    "scan_setups": {
        "status": "all",
        "filters": [{"kind": "price", "op": ">", "value": 10}],
        "limit": 1,
    },
    "add_tickers": {"symbols": ["IBM"]},
    "remove_tickers": {"symbols": ["IBM"]},
    "get_universe": {"search": "apple", "limit": 1},
    "get_changes": {"limit": 1},
}
CHANGING = [
    (re.compile(r"\b(\d{8})-[0-9a-f]{12}\b"), r"\1-0123456789ab"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:[\d.]+(Z|\+00:00)"), "2013-02-18T06:00:00Z"),
    (re.compile(r"(ps_live_)\w{8}"), r"\1Ab3dEf7h"),
]
"""What differs from run to run."""


def shortened(value: Any, depth: int) -> Any:
    """A JSON value with … in the place of what is too long, or lies deeper, to be shown."""
    if isinstance(value, dict):
        if not depth:
            return {"…": f"{len(value)} fields"} if value else {}
        return {name: shortened(part, depth - 1) for name, part in value.items()}
    if isinstance(value, list):
        most = 1 if any(isinstance(item, dict | list) for item in value) else 5
        more = len(value) - most
        told = [f"… {more} more"] if more > 0 else []
        return [*(shortened(item, depth) for item in value[:most]), *told]
    if isinstance(value, str):
        most = FEW_LETTERS if value.startswith(CODED) else MAX_LETTERS
        return value if len(value) <= most else f"{value[:most]}…"
    return value


def pretty(value: Any) -> str:
    """A value as a person reads it, as deep as so many lines allow."""
    for depth in range(DEEPEST, 0, -1):
        text = json.dumps(shortened(value, depth), indent=2, ensure_ascii=False)
        if text.count("\n") < MAX_LINES:
            break
    return text


def rest(service: Service) -> Iterator[dict[str, str]]:
    """A request and an answer of each route."""
    setup = service.get("/demo/AAPL", key="").json()["setups"][0]["setup_id"]
    routes = [("GET", path) for path in DOCUMENTS]
    routes += [(route.method, route.path) for route in ROUTES]
    for method, path in routes:
        query = f"?setup_id={setup}" if path.endswith(".png") else QUERIES.get(path, "")
        real = path.format(symbol="AAPL", family="triangle") + query
        body = BODIES.get(method)
        keyless = path in DOCUMENTS or path.startswith("/demo")
        answer = service.request(method, real, key="" if keyless else None, json=body)
        assert answer.status_code == 200, answer.text
        yield {
            "surface": "rest",
            "name": f"{method} {path}",
            "request": curl(method, f"{HOME}/api/v1{real}", body, keyless=keyless),
            "answer": shown(answer.headers["content-type"], answer.content),
        }


def curl(method: str, address: str, body: Any, *, keyless: bool) -> str:
    """The command that asks for an address."""
    words = ["curl"]
    if method != "GET":
        words.append(f"-X {method}")
    if not keyless:
        words.append('-H "Authorization: Bearer $SCREENER_KEY"')
    if body is not None:
        words += ['-H "Content-Type: application/json"', f"-d '{json.dumps(body)}'"]
    return " ".join([*words, f'"{address}"'])


def shown(media_type: str, body: bytes) -> str:
    """An answer as a person reads it."""
    if media_type == "application/json":
        return pretty(json.loads(body))
    if media_type.startswith("image/"):
        return f"{media_type}, 1200 x 675"
    return f"{body.decode()[:600].rstrip()}\n…"


async def mcp(service: Service) -> list[dict[str, str]]:
    """A request and a result of each tool."""
    setup = service.get("/demo/AAPL", key="").json()["setups"][0]["setup_id"]
    rows = []
    async with connected(f"{service.mcp_url}/extended", service.key) as client:
        for tool in EXTENDED.tools:
            arguments = dict(ARGUMENTS[tool])
            if tool == "get_pattern_chart":
                arguments["setup_id"] = setup
            result = await call(client, tool, **arguments)
            assert not result.is_error
            told = result.model_dump(mode="json", by_alias=True, exclude_none=True)
            told = {name: told[name] for name in ("content", "structuredContent") if name in told}
            params = {"name": tool, "arguments": arguments}
            asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            rows.append(
                {
                    "surface": "mcp",
                    "name": tool,
                    "request": json.dumps(asked, ensure_ascii=False),
                    "answer": pretty(told),
                }
            )
    return rows


async def test_the_samples_are_what_the_sample_night_answers(
    product_night: Path, tmp_path: Path
) -> None:
    """On the day after."""
    copy_night(product_night, tmp_path)
    day = dt.datetime(2013, 2, 18, 6, tzinfo=dt.UTC)
    with serving(tmp_path, clock=lambda: day, public_url=HOME) as live:
        rows = [*rest(live), *await mcp(live)]
    text = json.dumps(rows, indent=1, ensure_ascii=False) + "\n"
    for changing, fixed in CHANGING:
        text = changing.sub(fixed, text)
    if os.environ.get("UPDATE_GOLDEN"):
        PATH.write_text(text, encoding="utf-8")

    assert text == PATH.read_text(encoding="utf-8")


def test_every_route_and_tool_has_one_sample_that_is_valid_json() -> None:
    samples = load_samples("http://127.0.0.1:8000")
    names = [sample.name for sample in samples]
    routes = {f"{route.method} {route.path}" for route in ROUTES}

    assert len({sample.id for sample in samples}) == len(samples)
    assert {*EXTENDED.tools, *routes, *(f"GET {path}" for path in DOCUMENTS)} == set(names)
    for sample in samples:
        assert HOME not in sample.request + sample.answer
        assert sample.answer.count("\n") < MAX_LINES
        if sample.answer.startswith("{"):
            json.loads(sample.answer)
