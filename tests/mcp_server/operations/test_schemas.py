"""The schemas that agents read: lean, and as full of fields as the records themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from mcp_server.operations.arguments import FamilyArguments, read_arguments
from mcp_server.operations.lean import lean_answer, lean_argument
from mcp_server.operations.schemas import input_schema, output_schema, record_schemas
from mcp_server.operations.table import OPERATIONS, Operation
from store.families import Family
from store.records import Envelope

ANSWERED = [row for row in OPERATIONS.values() if row.answers]
OPEN = {"data_version", "source"}
"""Fields of a type that the interface leaves open."""
PLAIN = {"description", "type", "enum", "items", "default", "minimum"}
"""The keywords of arguments, which every host understands."""


def fields(schema: Any, definitions: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Each field below a schema by its path, and each type that it may have."""
    if "$ref" in schema:
        schema = definitions[schema["$ref"].rsplit("/", 1)[1]]
    kinds = schema.get("type", [])
    for kind in [kinds] if isinstance(kinds, str) else kinds:
        yield path, kind
    for choice in schema.get("anyOf", ()):
        yield from fields(choice, definitions, path)
    for name, field in schema.get("properties", {}).items():
        yield from fields(field, definitions, f"{path}.{name}")
    if "items" in schema:
        yield from fields(schema["items"], definitions, f"{path}[]")


@pytest.mark.parametrize("operation", ANSWERED, ids=lambda row: row.name)
def test_a_lean_schema_has_every_field_of_its_records_with_its_types(operation: Operation) -> None:
    lean = output_schema(operation)
    assert lean is not None
    records, definitions = record_schemas((Envelope, *operation.answers), "#/$defs/")

    full = {field for record in records for field in fields(record, definitions)}

    found = set(fields(lean, lean.get("$defs", {})))
    assert found == full
    named = {path.split(".")[1].split("[")[0] for path, _ in found if path}
    assert set(lean["properties"]) - named == OPEN
    jsonschema.Draft202012Validator.check_schema(lean)


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=lambda row: row.name)
def test_an_argument_has_one_plain_type_and_words(operation: Operation) -> None:
    for field in input_schema(operation)["properties"].values():
        assert set(field) <= PLAIN
        assert isinstance(field["type"], str)
        assert field["description"]
        assert field.get("default", "") is not None


def test_the_family_is_one_of_five_and_any_other_is_still_answered() -> None:
    operation = OPERATIONS["get_family_track_record"]

    assert input_schema(operation)["properties"]["family"]["enum"] == list(Family)
    assert read_arguments(FamilyArguments, {"family": "cup"}).family == "cup"


def test_null_is_a_type_among_others_and_bounds_are_left_out() -> None:
    verdict = {"anyOf": [{"const": "v1", "type": "string"}, {"type": "null"}], "default": None}
    count = {"anyOf": [{"minimum": 0, "type": "integer"}, {"type": "null"}], "description": "Rows."}

    lean = lean_answer({"properties": {"verdict": verdict, "count": count}, "required": ["count"]})

    assert lean == {
        "properties": {
            "verdict": {"type": ["string", "null"], "enum": ["v1", None]},
            "count": {"description": "Rows.", "type": ["integer", "null"]},
        },
        "required": ["count"],
    }
    assert lean_argument({**count, "default": None}) == {
        "description": "Rows.",
        "type": "integer",
        "minimum": 0,
    }


def test_a_definition_stands_where_it_is_used_unless_it_is_used_twice() -> None:
    point = {"type": "object", "description": "A point.", "properties": {"x": {"type": "number"}}}
    line = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/Point"}, "b": {"$ref": "#/$defs/Point"}},
    }
    schema = {
        "properties": {"line": {"$ref": "#/$defs/Line", "description": "One line."}},
        "required": ["line"],
        "$defs": {"Line": line, "Point": point},
    }

    lean = lean_answer(schema)

    assert lean["properties"]["line"] == {"description": "One line.", **line}
    assert list(lean["$defs"]) == ["Point"]
    assert "description" not in lean["$defs"]["Point"]
