"""JSON Schemas of the operations' arguments and answers, rendered from their models.

The schemas of answers do not forbid additional properties: within v1 a field may be added, and what
the interface leaves open stays open here.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from mcp_server.operations.lean import Schema, lean_answer, lean_argument
from mcp_server.operations.table import Operation
from store.wire.records import SHORT, Envelope


def input_schema(operation: Operation) -> Schema:
    """The JSON Schema of an operation's arguments, as agents see it."""
    schema = tidy(operation.arguments.model_json_schema())
    fields = schema.get("properties", {}).items()
    result: Schema = {
        "type": "object",
        "properties": {name: lean_argument(field) for name, field in fields},
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
    schemas, definitions = record_schemas(models, "#/$defs/", in_short=True)
    envelope, *answers = schemas
    properties: Schema = dict(envelope["properties"])
    required = list(envelope["required"])
    for answer in answers:
        properties.update(answer["properties"])
    if answers:
        common = set.intersection(*(set(answer["required"]) for answer in answers))
        required += [name for name in answers[0]["required"] if name in common]
    result: Schema = {"type": "object", "properties": properties, "required": required}
    return lean_answer({**result, "$defs": definitions})


def record_schemas(
    models: tuple[type[BaseModel], ...], reference: str, *, in_short: bool = False
) -> tuple[list[Schema], Schema]:
    """The open schemas of some records, and the definitions they share.

    `reference` is where the definitions will stand, such as `#/$defs/`. Fields are described in
    whole words, or in the shorter ones of `store.wire.records.short`.
    """
    definitions = _worded(tidy(_rendered(models, reference)), in_short).get("$defs", {})
    roots = [definitions[model.__name__] for model in models]
    used = _used(roots, definitions, reference)
    return roots, {name: definitions[name] for name in definitions if name in used}


@cache
def _rendered(models: tuple[type[BaseModel], ...], reference: str) -> Schema:
    """What pydantic makes of models, not to be changed; most of a start would go into it again."""
    _, top = models_json_schema(
        [(model, "validation") for model in models], ref_template=reference + "{model}"
    )
    return top


def _worded(schema: Any, in_short: bool) -> Any:  # noqa: ANN401 - any JSON value
    """A schema in whole or in shorter words, without the keyword of the latter."""
    if isinstance(schema, list):
        return [_worded(item, in_short) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if in_short and SHORT in schema:
        words = {"description": schema[SHORT]} if schema[SHORT] else {}
        schema = {**{k: v for k, v in schema.items() if k != "description"}, **words}
    return {key: _worded(value, in_short) for key, value in schema.items() if key != SHORT}


def _used(roots: list[Schema], definitions: Schema, reference: str) -> set[str]:
    found: set[str] = set()
    queue: list[Any] = list(roots)
    while queue:
        node = queue.pop()
        if isinstance(node, dict):
            name = str(node.get("$ref", "")).removeprefix(reference)
            if name in definitions and name not in found:
                found.add(name)
                queue.append(definitions[name])
            queue.extend(node.values())
        elif isinstance(node, list):
            queue.extend(node)
    return found


def tidy(schema: Any) -> Any:  # noqa: ANN401 - any JSON value
    """A schema without generated titles and without `additionalProperties: false`."""
    if isinstance(schema, list):
        return [tidy(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: {key: tidy(value) for key, value in part.items()}
        if name in ("properties", "$defs")
        else tidy(part)
        for name, part in schema.items()
        if not (name == "title" and isinstance(part, str))
        and not (name == "additionalProperties" and part is False)
    }
