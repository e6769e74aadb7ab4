"""The typed client: every call of the API, with shapes that are those of the OpenAPI document, for
synchronous and asynchronous programs alike.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import runpy
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from tests.contract.golden import GOLDEN, check_golden
from tests.examples.scripts import EXAMPLES, client
from tests.examples.shapes import shapes
from tests.service import Service, new_key, serving

calls = client.calls
types = importlib.import_module("screener_types")

DOCUMENTS: Final = {"index", "llms_txt", "skill_md", "openapi_json"}
"""Operations that answer with a document."""

OPERATIONS: Final[Mapping[str, tuple[str, str, Any]]] = {
    operation["operationId"]: (method.upper(), path, operation)
    for path, methods in json.loads((GOLDEN / "openapi.json").read_bytes())["paths"].items()
    for method, operation in methods.items()
    if operation["operationId"] not in DOCUMENTS
}
READ: Final[Mapping[str, Mapping[str, object]]] = {
    "me": {},
    "scan": {"status": "all", "filters": [{"kind": "price", "op": ">", "value": 1}], "limit": 2},
    "changes": {"limit": 1},
    "list_tracked_tickers": {},
    "get_ticker_patterns": {"symbol": "AAPL"},
    "get_pattern_history": {"symbol": "AAPL", "outcome": "resolved", "since": "2001-01-01"},
    "get_ticker_record": {"symbol": "MSFT", "family": "triangle"},
    "get_family_track_record_family": {},
    "get_family_track_record_by_family": {"family": "triangle"},
    "universe": {"search": "micro"},
    "demo_symbols": {},
    "demo": {"symbol": "AAPL"},
}
"""Calls whose answer is JSON and that change nothing."""


def arguments(operation: Any) -> set[str]:
    """What an operation takes, in its path, its query and its body."""
    named = {one["name"] for one in operation["parameters"] if one["in"] != "header"}
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    return {*named, *body.get("schema", {}).get("properties", {})}


async def asked(service: Service, *wanted: Any) -> list[Any]:
    """The answers of some calls, which the asynchronous client asks side by side."""
    async with client.connected_async(service.url, service.key) as screener:
        return await asyncio.gather(*map(screener.ask, wanted))


def test_the_shapes_are_those_of_the_openapi_document() -> None:
    written = shapes(json.loads((GOLDEN / "openapi.json").read_bytes()))
    ruff = str(Path(sys.executable).with_name("ruff"))
    place = ["--stdin-filename", str(EXAMPLES / "screener_types.py"), "-"]
    text = subprocess.run(
        [ruff, "format", *place], input=written, capture_output=True, text=True, check=True
    ).stdout

    check_golden("../../examples/screener_types.py", text)


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_is_a_call_with_the_same_arguments(name: str) -> None:
    method, path, operation = OPERATIONS[name]
    make = getattr(calls, name)
    parameters = inspect.signature(make).parameters
    call = make(**dict.fromkeys(parameters, "A/B"))

    assert set(parameters) == arguments(operation)
    assert call.method == method
    assert call.path == path.format(symbol="A%2FB", family="A%2FB")
    sent = call.query.keys() | (call.body or {}).keys()
    assert sent == {one for one in parameters if f"{{{one}}}" not in path}


@pytest.mark.parametrize("name", READ)
def test_both_clients_read_the_same_answer_of_the_promised_shape(
    service: Service, name: str
) -> None:
    call = getattr(calls, name)(**READ[name])
    with client.connected(service.url, service.key) as screener:
        answer = screener.ask(call)

    assert asyncio.run(asked(service, call)) == [answer]
    shape = inspect.signature(getattr(calls, name)).return_annotation.removeprefix("Call[")[:-1]
    if shape != "Json":
        known = getattr(types, shape).__annotations__
        required = {name for name, typed in known.items() if "NotRequired" not in str(typed)}
        assert required <= answer.keys() <= known.keys()


def test_both_clients_track_tickers_and_read_charts(data_dir: Path) -> None:
    with serving(data_dir) as service:
        with client.connected(service.url, service.key) as screener:
            before = [
                row["symbol"] for row in screener.ask(calls.list_tracked_tickers())["tickers"]
            ]
            assert screener.ask(calls.edit_tracked_tickers(add=["FB"]))["added"] == ["FB"]
            (setup,) = screener.ask(calls.get_ticker_patterns("GOOG"))["setups"]
            chart = calls.get_pattern_chart("GOOG", setup["setup_id"])
            picture = screener.ask(chart)
        after, same = asyncio.run(asked(service, calls.set_tracked_tickers(before), chart))

    assert after["removed"] == ["FB"]
    assert picture == same
    assert picture.startswith(b"\x89PNG")


def test_a_demo_chart_needs_no_key(service: Service) -> None:
    with client.connected(service.url, "") as screener:
        (setup,) = screener.ask(calls.demo("GOOG"))["setups"]

        assert screener.ask(calls.demo_chart("GOOG", setup["setup_id"])).startswith(b"\x89PNG")


async def test_the_asynchronous_client_waits_as_asked_and_then_goes_on(data_dir: Path) -> None:
    waits: list[float] = []

    async def a_minute_passes(seconds: float) -> None:
        waits.append(seconds)
        screener.http.headers["Authorization"] = f"Bearer {later}"

    with serving(data_dir, key_per_minute=1) as service:
        later = new_key(service.settings, "later@example.com")
        service.get("/me").raise_for_status()
        async with client.connected_async(service.url, service.key) as screener:
            screener.sleep = a_minute_passes
            answer = await screener.ask(calls.me())

    assert answer["as_of_session"] == "2012-10-03"
    assert len(waits) == 1
    assert 1 <= waits[0] <= 60


async def test_asynchronous_work_starts_over_when_the_night_changes(
    service: Service, tmp_path: Path
) -> None:
    starts: list[int] = []

    with serving(tmp_path) as other:
        async with client.connected_async(service.url, service.key) as screener:

            async def read_two_pages() -> list[Any]:
                starts.append(len(starts))
                first = await screener.ask(calls.scan(limit=1))
                screener.http.base_url = other.base
                screener.http.headers["Authorization"] = f"Bearer {other.key}"
                return [first, await screener.ask(calls.scan(limit=1, offset=1))]

            pages = await screener.in_one_session(read_two_pages)

    assert starts == [0, 1]
    assert {page["as_of_session"] for page in pages} == {None}


async def test_the_asynchronous_client_says_why_it_was_refused_or_heard_nothing(
    service: Service,
) -> None:
    with pytest.raises(client.RefusedError, match="unknown_symbol"):
        await asked(service, calls.edit_tracked_tickers(add=["ZZZZ"]))
    async with client.connected_async("http://127.0.0.1:9", "") as screener:
        with pytest.raises(client.UnreachableError, match="No answer from"):
            await screener.ask(calls.me())


def test_the_program_of_the_readme_runs_as_it_stands(
    service: Service,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (program,) = (
        block.split("```")[0]
        for block in (EXAMPLES / "README.md").read_text(encoding="utf-8").split("```python\n")[1:]
    )
    monkeypatch.setenv("SCREENER_URL", service.url)
    monkeypatch.setenv("SCREENER_KEY", service.key)

    (tmp_path / "program.py").write_text(program, encoding="utf-8")

    runpy.run_path(str(tmp_path / "program.py"), run_name="__main__")

    printed = capsys.readouterr().out
    assert "GOOG: " in printed
    assert "4 tickers, " in printed
