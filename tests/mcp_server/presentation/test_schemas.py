"""The schemas that agents read: lean, and as full of fields as the records themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from mcp_server.operations.schemas import SHOWN, input_schema, output_schema, record_schemas
from mcp_server.operations.table import OPERATIONS, Operation
from store.wire.records import Envelope

ANSWERED = [row for row in OPERATIONS.values() if row.answers]
OPEN = {"data_version", "source"}
"""Fields of a type that the interface leaves open."""
PLAIN = {"description", "type", "enum", "items", "default", "minimum"}
"""The keywords of arguments, which every host understands."""


def fields(
    schema: Any, definitions: Any, path: str = "", shown: int = SHOWN
) -> Iterator[tuple[str, str]]:
    """Each field so many levels below a schema by its path, and each type that it may have."""
    if "$ref" in schema:
        schema = definitions[schema["$ref"].rsplit("/", 1)[1]]
    kinds = schema.get("type", [])
    for kind in [kinds] if isinstance(kinds, str) else kinds:
        yield path, kind
    for choice in schema.get("anyOf", ()):
        yield from fields(choice, definitions, path, shown)
    for name, field in schema.get("properties", {}).items() if shown else ():
        yield from fields(field, definitions, f"{path}.{name}", shown - 1)
    if "items" in schema:
        yield from fields(schema["items"], definitions, f"{path}[]", shown)


@pytest.mark.parametrize("operation", ANSWERED, ids=lambda row: row.name)
def test_a_lean_schema_has_the_upper_fields_of_its_records_with_their_types(
    operation: Operation,
) -> None:
    lean = output_schema(operation)
    assert lean is not None
    records, definitions = record_schemas((Envelope, *operation.answers), "#/$defs/")

    full = {field for record in records for field in fields(record, definitions)}

    found = set(fields(lean, {}))
    assert {field for field in found if field[0].removeprefix(".") not in OPEN} == full
    jsonschema.Draft202012Validator.check_schema(lean)


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=lambda row: row.name)
def test_an_argument_has_one_plain_type_and_words(operation: Operation) -> None:
    for field in input_schema(operation)["properties"].values():
        assert set(field) <= PLAIN
        assert isinstance(field["type"], str)
        assert field["description"]
        assert field.get("default", "") is not None
