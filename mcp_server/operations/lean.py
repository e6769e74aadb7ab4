"""Lean schemas: what agents read about arguments and answers, in the fewest tokens.

A host puts the schemas of all tools in front of its model before anybody has asked anything. So
these say what is there and what it means: every field, its type, its choices, whether it may be
null. What only a validator needs stands in the OpenAPI document, which is read once by whoever
writes a client.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

Schema = dict[str, Any]

REFERENCE = "#/$defs/"
NULL = {"type": "null"}
BOUNDS = frozenset(
    {
        "default",
        "exclusiveMinimum",
        "maxItems",
        "maxLength",
        "minItems",
        "minimum",
        "maximum",
        "pattern",
    }
)
"""Keywords that bound a value, or say what stands for it: not what it is."""
ORDER = ("description", "type", "format", "enum", "const", "items", "properties")
"""The order of keywords: the tokenizer joins the punctuation between these best."""


def lean_argument(field: Schema) -> Schema:
    """The schema of one argument: what may be left out need not allow null as well."""
    choices = [choice for choice in field.get("anyOf", ()) if choice != NULL]
    if len(choices) == 1:
        field = {**choices[0], **{key: value for key, value in field.items() if key != "anyOf"}}
    return _ordered({k: v for k, v in field.items() if (k, v) != ("default", None)})


def lean_answer(schema: Schema) -> Schema:
    """The schema of an answer, whose required fields are those of the answer alone.

    A definition that is used once stands where it is used; its fields describe it.
    """
    definitions = {
        name: _without_description(part) for name, part in schema.get("$defs", {}).items()
    }
    body = {key: value for key, value in schema.items() if key not in ("$defs", "required")}
    used = Counter(_references([body, definitions]))
    inlined = {name: part for name, part in definitions.items() if used[name] == 1}
    result: Schema = {**_lean(body, inlined), "required": schema["required"]}
    shared = {name: _lean(p, inlined) for name, p in definitions.items() if name not in inlined}
    return {**result, "$defs": shared} if shared else result


def _without_description(schema: Schema) -> Schema:
    return {key: value for key, value in schema.items() if key != "description"}


def _references(node: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON value
    if isinstance(node, list):
        for item in node:
            yield from _references(item)
    elif isinstance(node, dict):
        if "$ref" in node:
            yield node["$ref"].removeprefix(REFERENCE)
        yield from _references(list(node.values()))


def _lean(schema: Schema, inlined: Schema) -> Schema:
    """A schema without bounds and lists of required fields, and so its parts."""
    if (name := schema.get("$ref", "").removeprefix(REFERENCE)) in inlined:
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        return _lean({**inlined[name], **rest}, inlined)
    result = {k: v for k, v in schema.items() if k not in BOUNDS and k != "required"}
    if "properties" in result:
        fields = result["properties"].items()
        result["properties"] = {name: _lean(field, inlined) for name, field in fields}
    if "items" in result:
        result["items"] = _lean(result["items"], inlined)
    if "anyOf" in result:
        result["anyOf"] = [_lean(choice, inlined) for choice in result["anyOf"]]
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
