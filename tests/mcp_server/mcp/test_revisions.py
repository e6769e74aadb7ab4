"""Each revision of MCP gets what it has, and nothing that began later."""

from __future__ import annotations

from typing import Any

import pytest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from mcp_server.mcp.app_page import PAGE_URI
from tests.agent import INITIALIZE, post
from tests.service import Service

REVISIONS = tuple(sorted(HANDSHAKE_PROTOCOL_VERSIONS))
PATHS = ("", "/demo", "/extended")

SERVER = {
    "2024-11-05": {"name", "version"},
    "2025-03-26": {"name", "version"},
    "2025-06-18": {"name", "version", "title"},
    "2025-11-25": {"name", "version", "title", "icons", "websiteUrl"},
}
TOOL = {
    "2024-11-05": {"name", "description", "inputSchema"},
    "2025-03-26": {"name", "description", "inputSchema", "annotations"},
    "2025-06-18": {
        *("name", "description", "inputSchema", "annotations"),
        *("title", "outputSchema", "_meta"),
    },
}
TOOL["2025-11-25"] = TOOL["2025-06-18"]
SCHEMA = {"type", "properties", "required"}
"""Members of a schema that every revision names."""


def ask(service: Service, path: str, method: str, revision: str, **params: Any) -> Any:
    """The result of a request, whose header names a revision or none."""
    key = "" if path == "/demo" else service.key
    answer = post(service.mcp_url + path, key, method, revision, **params)
    assert answer.status_code == 200
    return answer.json()["result"]


def opened(service: Service, path: str, wanted: str, revision: str = "") -> Any:
    """The result of a handshake."""
    params = INITIALIZE | {"protocolVersion": wanted}
    return ask(service, path, "initialize", revision, **params)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("revision", REVISIONS)
def test_a_revision_gets_only_what_it_has(service: Service, path: str, revision: str) -> None:
    handshake = opened(service, path, revision)
    listed = ask(service, path, "tools/list", revision)
    page = ask(service, path, "resources/read", revision, uri=PAGE_URI)

    assert handshake["protocolVersion"] == revision
    assert set(handshake) == {"protocolVersion", "capabilities", "serverInfo", "instructions"}
    assert set(handshake["serverInfo"]) == SERVER[revision]
    assert set(handshake["capabilities"]) == {"tools", "prompts", "resources"}
    assert set(listed) == {"tools"}
    assert set().union(*listed["tools"]) == TOOL[revision]
    assert ("_meta" in page["contents"][0]) is (revision >= "2025-06-18")


@pytest.mark.parametrize("path", PATHS)
def test_a_client_that_names_no_revision_gets_no_icons_and_the_schemas_of_answers(
    service: Service, path: str
) -> None:
    assert set().union(*ask(service, path, "tools/list", "")["tools"]) == TOOL["2025-06-18"]


@pytest.mark.parametrize("named", ["2026-07-28", "2031-01-01", "draft"])
def test_a_handshake_that_names_a_later_revision_is_offered_one_that_has_handshakes(
    service: Service, named: str
) -> None:
    assert opened(service, "/demo", named, named)["protocolVersion"] in REVISIONS


def parts(schema: Any) -> Any:
    """A schema and all schemas in it, each with whether it is one of a named property."""
    yield schema
    for part in schema.get("properties", {}).values():
        assert part.keys() & {"type", "anyOf", "enum"}, part
        yield from parts(part)
    for part in (schema.get("items"), *schema.get("anyOf", ())):
        if part:
            yield from parts(part)


@pytest.mark.parametrize("path", PATHS)
def test_every_schema_stands_by_itself_and_every_field_has_a_type(
    service: Service, path: str
) -> None:
    """Clients drop what their revision does not name at the top of a schema, such as `$defs`."""
    for tool in ask(service, path, "tools/list", "2025-11-25")["tools"]:
        for schema in (tool["inputSchema"], tool.get("outputSchema")):
            if schema is None:
                continue
            assert set(schema) <= SCHEMA, tool["name"]
            assert schema["type"] == "object"
            assert isinstance(schema["properties"], dict)
            for part in parts(schema):
                assert "$ref" not in part
