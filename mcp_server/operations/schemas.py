"""JSON Schemas of the operations' arguments and answers, rendered from their models.

A host puts the schemas of all tools in front of its model before anybody has asked anything. So
those of tools are lean: they say what is there and what it means, every field, its type, its
choices, whether it may be null. What only a validator needs stands in the OpenAPI document, which
is read once by whoever writes a client. A schema stands by itself: some clients drop `$defs`.

The schemas of answers do not forbid additional properties: within v1 a field may be added, and what
the interface leaves open stays open here.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from mcp_server.operations.table import Operation
from store.wire.records import SHORT, Envelope

Schema = dict[str, Any]

REFERENCE = "#/$defs/"
NULL = {"type": "null"}
SHOWN = 2
"""Levels of fields that the schema of an answer has: below, descriptions and answers explain."""
BOUNDS = (
    *("default", "minimum", "exclusiveMinimum", "maximum"),
    *("minItems", "maxItems", "maxLength", "pattern"),
)
"""Keywords that bound a value, or say what stands for it: not what it is."""
ORDER = ("description", "type", "format", "enum", "const", "items", "properties")
"""The order of keywords: the tokenizer joins the punctuation between these best."""


@cache
def input_schema(operation: Operation) -> Schema:
    """The JSON Schema of an operation's arguments, as agents see it."""
    schema = _tidy(operation.arguments.model_json_schema())
    fields = schema.get("properties", {}).items()
    result: Schema = {
        "type": "object",
        "properties": {name: _lean_argument(field) for name, field in fields},
    }
    if "required" in schema:
        result["required"] = schema["required"]
    return result


def output_schema(operation: Operation) -> Schema | None:
    """The JSON Schema of an operation's structured answer; None if the answer is a picture.

    An operation with several possible answers requires only what all of them have.
    """
    if operation.produces == "image/png":
        return None
    models: tuple[type[BaseModel], ...] = (Envelope, *operation.answers)
    (envelope, *answers), definitions = record_schemas(models, REFERENCE, in_short=True)
    properties: Schema = dict(envelope["properties"])
    required = list(envelope["required"])
    for answer in answers:
        properties.update(answer["properties"])
    if answers:
        common = set.intersection(*(set(answer["required"]) for answer in answers))
        required += [name for name in answers[0]["required"] if name in common]
    lean = _lean({"type": "object", "properties": properties}, definitions, SHOWN)
    return {**lean, "required": required}


def record_schemas(
    models: tuple[type[BaseModel], ...], reference: str, *, in_short: bool = False
) -> tuple[list[Schema], Schema]:
    """The open schemas of some records, and the definitions they share.

    `reference` is where the definitions will stand, such as `#/$defs/`. Fields are described in
    whole words, or in the shorter ones of `store.wire.records.short`.
    """
    definitions = _tidy(_rendered(models, reference), in_short=in_short).get("$defs", {})
    referenced = set(_references(definitions))
    shared = {name: part for name, part in definitions.items() if name in referenced}
    return [definitions[model.__name__] for model in models], shared


@cache
def _rendered(models: tuple[type[BaseModel], ...], reference: str) -> Schema:
    """What pydantic makes of models, not to be changed; most of a start would go into it again."""
    _, top = models_json_schema(
        [(model, "validation") for model in models], ref_template=reference + "{model}"
    )
    return top


def _tidy(schema: Any, *, in_short: bool = False) -> Any:  # noqa: ANN401 - any JSON value
    """A schema without generated titles and `additionalProperties: false`, in whole or in shorter
    words.
    """
    if isinstance(schema, list):
        return [_tidy(item, in_short=in_short) for item in schema]
    if not isinstance(schema, dict):
        return schema
    result = {}
    for name, part in schema.items():
        is_title = name == "title" and isinstance(part, str)
        is_replaced = name == "description" and in_short and SHORT in schema
        if not is_title and not is_replaced and (name, part) != ("additionalProperties", False):
            result[name] = _tidy(part, in_short=in_short)
    words = result.pop(SHORT, "")
    return {**result, "description": words} if in_short and words else result


def _references(node: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON value
    """The names of the definitions that a schema refers to, each as often as it does."""
    if isinstance(node, list):
        for item in node:
            yield from _references(item)
    elif isinstance(node, dict):
        if "$ref" in node:
            yield node["$ref"].rpartition("/")[2]
        yield from _references(list(node.values()))


def _lean_argument(field: Schema) -> Schema:
    """The schema of one argument: what may be left out need not allow null as well."""
    choices = [choice for choice in field.get("anyOf", ()) if choice != NULL]
    if len(choices) == 1:
        field = {**choices[0], **{key: value for key, value in field.items() if key != "anyOf"}}
    return _ordered({k: v for k, v in field.items() if (k, v) != ("default", None)})


def _lean(schema: Schema, definitions: Schema, shown: int) -> Schema:
    """A schema without bounds, references and lists of required fields, and so its parts, so many
    levels of fields deep: below, an object is named as one.
    """
    if name := schema.get("$ref", "").removeprefix(REFERENCE):
        named = {key: value for key, value in definitions[name].items() if key != "description"}
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        return _lean({**named, **rest}, definitions, shown)
    result = {k: v for k, v in schema.items() if k not in BOUNDS and k != "required"}
    if not result.keys() & {"type", "anyOf", "enum", "const"}:
        # The interface leaves these open, and some hosts refuse a field without a type.
        result["type"] = ["string", "null"]
    if shown == 0:
        result.pop("properties", None)
    elif "properties" in result:
        fields = result["properties"].items()
        result["properties"] = {
            name: _lean(field, definitions, shown - 1) for name, field in fields
        }
    if "items" in result:
        result["items"] = _lean(result["items"], definitions, shown)
    if "anyOf" in result:
        result["anyOf"] = [_lean(choice, definitions, shown) for choice in result["anyOf"]]
    return _ordered(_nullable(result))


def _nullable(schema: Schema) -> Schema:
    """A choice between a type and null, as a list of types."""
    choices: list[Schema] = schema.get("anyOf", [])
    if len(choices) != 2 or choices[1] != NULL or "type" not in choices[0]:
        return schema
    either = {**choices[0], "type": [choices[0]["type"], "null"]}
    if "const" in either:
        either["enum"] = [either.pop("const")]
    if "enum" in either:
        either["enum"] = [*either["enum"], None]
    return {**either, **{key: value for key, value in schema.items() if key != "anyOf"}}


def _ordered(schema: Schema) -> Schema:
    return {key: schema[key] for key in (*ORDER, *schema) if key in schema}
