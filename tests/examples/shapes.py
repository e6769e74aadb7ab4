"""The shapes of `examples/screener_types.py`, written from the OpenAPI document."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any, Final

Schema = Mapping[str, Any]

PLAIN: Final = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "null": "None",
    "object": "dict[str, Any]",
}
HEAD: Final = '''"""The shapes of the API's answers, as its OpenAPI document has them.

Written by `UPDATE_GOLDEN=1 pytest tests/examples/test_client.py`; do not edit. A field that older
nights lack is not required.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict
'''


def shapes(document: Schema) -> str:
    """The module of all shapes: one class for each schema, one for each answer in its envelope."""
    schemas: Mapping[str, Schema] = document["components"]["schemas"]
    blocks = [HEAD, *(_block(name, schema) for name, schema in schemas.items())]
    blocks += [
        f'class {name}Answer(Envelope, {name}):\n    """The answer of `{path}`."""\n'
        for name, path in answers(document).items()
    ]
    return "\n\n".join(blocks)


def answers(document: Schema) -> dict[str, str]:
    """The schema that an answer has beside the envelope, and the call that it answers."""
    found: dict[str, str] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            content = operation["responses"]["200"]["content"].get("application/json", {})
            for part in content.get("schema", {}).get("allOf", ())[1:]:
                found.setdefault(_name(part), f"{method.upper()} {path}")
    return found


def _block(name: str, schema: Schema) -> str:
    if "properties" not in schema:
        return f"{name}: TypeAlias = {annotation(schema)}\n"
    lines = [f"class {name}(TypedDict):", *_docstring(schema.get("description", "")), ""]
    for field, of in schema["properties"].items():
        typed = annotation(of)
        required = field in schema.get("required", ())
        lines.append(f"    {field}: {typed if required else f'NotRequired[{typed}]'}")
        lines += _docstring(of.get("description", ""))
    return "\n".join(lines) + "\n"


def _docstring(words: str) -> Iterator[str]:
    if words:
        words = " ".join(f"{words[0].upper()}{words[1:]}".split())
        short = f'    """{words}"""'
        yield (
            short
            if len(short) <= 100
            else textwrap.indent(f'"""{textwrap.fill(words, 93)}\n"""', "    ")
        )


def annotation(schema: Schema) -> str:
    """The type of a value in Python."""
    if "$ref" in schema:
        return _name(schema)
    for union in ("anyOf", "oneOf", "allOf"):
        if union in schema:
            return " | ".join(map(annotation, schema[union]))
    if "enum" in schema or "const" in schema:
        values = ", ".join(json.dumps(v) for v in schema.get("enum", [schema.get("const")]))
        return f"Literal[{values.replace('true', 'True').replace('null', 'None')}]"
    kind = schema.get("type", "object")
    if isinstance(kind, list):
        return " | ".join(annotation({**schema, "type": each}) for each in kind)
    if kind == "array":
        return f"list[{annotation(schema.get('items', {}))}]"
    if kind == "object" and isinstance(more := schema.get("additionalProperties"), dict):
        return f"dict[str, {annotation(more)}]"
    return PLAIN[kind]


def _name(schema: Schema) -> str:
    return str(schema["$ref"]).rpartition("/")[2]
