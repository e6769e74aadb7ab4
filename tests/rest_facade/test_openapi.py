"""The OpenAPI document says in whole words what agents read in short ones."""

from __future__ import annotations

import json

from mcp_server.operations.schemas import output_schema
from mcp_server.operations.services import Offer
from mcp_server.operations.table import OPERATIONS
from rest_facade.openapi import openapi
from store.records import SHORT

DOCUMENT = openapi(Offer("https://screener.example.com", ("AAPL",)))


def test_a_field_has_whole_words_in_the_document_and_short_ones_or_none_for_agents() -> None:
    whole = DOCUMENT["components"]["schemas"]["TrackRecord"]["properties"]
    demo = output_schema(OPERATIONS["demo"])
    assert demo is not None
    agents = demo["$defs"]["TrackRecord"]["properties"]

    assert whole["detector"]["description"] == "Version of the detector that drew the patterns."
    assert agents["detector"]["description"] == "Version of the pattern detector."
    assert "description" in whole["method_version"]
    assert "description" not in agents["method_version"]
    assert whole["sample_size"]["description"] == agents["sample_size"]["description"]


def test_nobody_reads_the_keyword_of_short_words() -> None:
    schemas = [output_schema(operation) for operation in OPERATIONS.values()]

    assert SHORT not in json.dumps([DOCUMENT, schemas])
