"""Paths into JSON: `1.tickers.symbol=M2.setups.0.status` reads one value.

A part is the name of a field, a place in a list, or `name=value`: the first row of a list with that
value. `*` takes every row of a list, and what follows is read of each.
"""

from __future__ import annotations

import re
from typing import Any

TEMPLATE = re.compile(r"\{([^{}]+)\}")


class PathError(LookupError):
    """Nothing stands at a path."""


def at(value: Any, path: str) -> Any:
    """What stands at a path.

    Raises:
        PathError: nothing does.
    """
    return _walk(value, path.split("."), path)


def filled(value: Any, document: Any) -> Any:
    """A value whose texts `{path}` are replaced by what stands there, alone or within a text.

    A list that stands for a row of a list gives all its rows.
    """
    if isinstance(value, dict):
        return {name: filled(part, document) for name, part in value.items()}
    if isinstance(value, list):
        parts = [filled(part, document) for part in value]
        return [row for part in parts for row in (part if isinstance(part, list) else [part])]
    if not isinstance(value, str):
        return value
    whole = TEMPLATE.fullmatch(value)
    if whole:
        return at(document, whole[1])
    return TEMPLATE.sub(lambda found: str(at(document, found[1])), value)


def _walk(value: Any, parts: list[str], path: str) -> Any:
    for number, part in enumerate(parts):
        if part == "*":
            return [_walk(row, parts[number + 1 :], path) for row in value]
        value = _step(value, part, path)
    return value


def _step(value: Any, part: str, path: str) -> Any:
    name, equals, wanted = part.partition("=")
    try:
        if equals:
            return next(row for row in value if str(row[name]) == wanted)
        return value[int(part)] if isinstance(value, list) else value[part]
    except (LookupError, TypeError, ValueError, StopIteration) as error:
        raise PathError(f"nothing at {part} of {path}") from error
