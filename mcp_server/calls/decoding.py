"""Decoding: JSON from a caller, bounded in depth, which orjson bounds at 1024 alone.

What walks or encodes the result again may recurse, and fails far below that.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any

import orjson

MAX_DEPTH = 64
"""Most levels of arrays and objects in one another."""


class JsonError(ValueError):
    """A text is not JSON, or nests too deep; the message says which."""


def decode(text: bytes | str) -> Any:  # noqa: ANN401 - any JSON
    """The value of a JSON text (RFC 8259), with at most `MAX_DEPTH` levels.

    Raises:
        JsonError: it is not JSON, or deeper.
    """
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise JsonError("not JSON") from error
    opening, brace = ("[", "{") if isinstance(text, str) else (b"[", b"{")
    # Nearly every text opens so few that no walk is needed.
    if text.count(opening) + text.count(brace) > MAX_DEPTH and _is_deep(value):  # type: ignore[arg-type]
        raise JsonError(f"nested over {MAX_DEPTH} levels deep")
    return value


def _is_deep(value: object) -> bool:
    level: Iterable[object] = [value]
    for _ in range(MAX_DEPTH + 1):
        wholes = [whole for whole in level if isinstance(whole, dict | list)]
        if not wholes:
            return False
        level = chain.from_iterable(w.values() if isinstance(w, dict) else w for w in wholes)
    return True
