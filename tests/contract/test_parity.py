"""Parity: one operation, REST and every address of MCP in both eras, the same answer and refusal.

What is refused is in `test_errors.py`; both walk the table of `cases.py`.
"""

from __future__ import annotations

import base64
from typing import Any

import jsonschema
import pytest

from mcp_server.mcp.toolsets import DEMO, EXTENDED, FULL, Toolset
from tests.agent import ERAS, call, connected, images, text_json, texts
from tests.contract.cases import ANSWERED
from tests.service import Service

OF_OTHER_TESTS = {"get_pattern_chart", "scan_setups"}
"""The picture is compared below, the scan in `test_scan.py`."""


@pytest.mark.proves("MCP-results", "MCP-get_ticker_patterns", "MCP-get_pattern_history")
@pytest.mark.proves("MCP-list_tracked_tickers", "MCP-set_tracked_tickers", "MCP-demo-tool")
@pytest.mark.proves("MCP-get_family_track_record", "MCP-demo", "MCP-demo-answers", "AUTH-3")
@pytest.mark.proves("ENV-all", "RULE-6")
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("toolset", [FULL, DEMO, EXTENDED], ids=lambda toolset: toolset.path)
async def test_a_tool_answers_what_its_route_answers(
    service: Service, toolset: Toolset, era: str, subtests: pytest.Subtests
) -> None:
    key = "" if toolset.keyless else service.key
    async with connected(service.mcp_url + toolset.path, key, era) as client:
        schemas = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
        assert list(schemas) == list(toolset.tools)
        asked = {case.tool for case in ANSWERED} | OF_OTHER_TESTS
        assert schemas.keys() <= asked
        assert [name for name, schema in schemas.items() if schema is None] == ["get_pattern_chart"]
        for case in ANSWERED:
            if (tool := toolset.tools.get(case.tool)) is None:
                continue
            with subtests.test(case=str(case)):
                body = case.request(service, key, tool.defaults).json()
                result = await call(client, case.tool, **case.arguments)

                if toolset.keyless and tool.operation.access != "keyless":
                    assert result.is_error
                    assert body["error"] == "missing_api_key"
                    text = texts(result)[0]
                    assert text.startswith("missing_api_key: ")
                    assert service.mcp_url in text
                    assert "Authorization: Bearer" in text
                    continue
                assert not result.is_error
                if case.tool in ("add_tickers", "remove_tickers"):
                    del body["tickers"]  # agents read what changed
                assert text_json(result) == result.structured_content == body
                assert (body["api_version"], body["as_of_session"]) == ("v1", "2012-10-03")
                schema: Any = schemas[case.tool]
                validator = jsonschema.Draft202012Validator(schema)
                assert list(validator.iter_errors(body)) == []
                assert list(validator.iter_errors({"api_version": "v2"})) != []


@pytest.mark.proves("MCP-get_pattern_chart", "MCP-demo-tool", "PAT-chart", "DEMO-chart")
@pytest.mark.proves("PAT-chart-once", "LIM-caches", "BASE-json")
@pytest.mark.parametrize("era", ERAS)
async def test_the_tools_show_the_picture_of_the_chart_routes(service: Service, era: str) -> None:
    setup = service.get("/tickers/GOOG/patterns").json()["setups"][0]
    query = {"setup_id": setup["setup_id"]}
    picture = service.get("/tickers/GOOG/chart.png", params=query)
    public = service.get("/demo/GOOG/chart.png", key="", params=query)

    async with connected(service.mcp_url, service.key, era) as client:
        chart = await call(client, "get_pattern_chart", symbol="GOOG", **query)
    async with connected(f"{service.mcp_url}/demo", era=era) as client:
        demo = await call(client, "demo", symbol="goog")

    assert picture.headers["content-type"] == public.headers["content-type"] == "image/png"
    assert picture.headers["cache-control"] == "private, max-age=3600"
    assert public.headers["cache-control"] == "public, max-age=3600"
    for result in (chart, demo):
        assert [base64.b64decode(image.data) for image in images(result)] == [picture.content]
    assert public.content == picture.content
    assert chart.structured_content is None
    words = texts(chart)[0]
    for fact in ("GOOG", setup["family_label"], "forming", "2012-10-03", "not investment advice"):
        assert fact in words
