"""The shapes that clients see, as golden files: each change is a diff that somebody reviews.

Run with `UPDATE_GOLDEN=1` to write the files again.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from mcp_server.limits.limits import Quotas
from mcp_server.mcp.server import tools
from mcp_server.mcp.toolsets import EXTENDED, FULL
from mcp_server.presentation.offer import Offer
from rest_facade.documents import documents
from tests.contract.golden import check_golden

OFFER = Offer("https://screener.example.com", ("AAPL", "GOOG"))


def pretty(value: Any) -> str:
    return json.dumps(value, indent=1) + "\n"


def test_the_tools_are_what_was_reviewed() -> None:
    for toolset, name in ((FULL, "tools.json"), (EXTENDED, "tools-extended.json")):
        listed = [tool.model_dump(mode="json", by_alias=True) for tool in tools(toolset, OFFER)]
        check_golden(name, pretty(listed))


@pytest.mark.parametrize("path", ["/openapi.json", "/llms.txt"])
def test_the_documents_are_what_was_reviewed(path: str) -> None:
    text = documents(Quotas())[path](OFFER).body.decode()
    check_golden(path[1:], pretty(json.loads(text)) if path.endswith(".json") else text)


def test_the_openapi_document_is_valid() -> None:
    document = json.loads(documents(Quotas())["/openapi.json"](OFFER).body)

    assert list(OpenAPIV31SpecValidator(document).iter_errors()) == []
