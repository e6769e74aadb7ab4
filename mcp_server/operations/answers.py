"""Answers: the finished answers of operations, and the cache of the sealed ones.

A sealed answer depends only on the night and the arguments. It is made once and then reused, with
the forms that surfaces have prepared of it: compressed bodies, JSON text.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import xxhash
from cachetools import LRUCache

from mcp_server.operations.arguments import Arguments

if TYPE_CHECKING:  # callers bring the accounts, which commands on patterns do without
    from mcp_server.calls.callers import Allowance

KEPT_BYTES = 16 * 1024 * 1024
"""Most bytes of all kept answers together, with their keys and all their forms."""

FORMS = 5
"""An answer with all its forms takes at most this many times its body: the body (1), its JSON text
with every character escaped (2), and two compressed copies that save nothing (2)."""

OVERHEAD = 2048
"""Bytes of the objects around one answer."""

JSON, PNG = "application/json", "image/png"


@dataclass(eq=False)
class Answer:
    """One finished answer: a JSON object with its envelope, or a picture."""

    body: bytes
    media_type: str = JSON
    _: KW_ONLY
    picture: bytes | None = None
    """A PNG that is shown beside the JSON, where the surface can show one."""
    caption: str | None = None
    """What a picture shows, in words."""
    warning: str = ""
    """What a reader must know of its night, where agents are told in words of their own."""
    app: bytes | None = None
    """JSON that only a page of the client's own reads, where it can show one."""
    lasting: bool = True
    """False for an answer that lacks something for the moment; such an answer is not kept."""
    forms: dict[Hashable, Any] = field(default_factory=dict, init=False)
    """The forms that surfaces have prepared so far."""
    kept_bytes: int = field(default=0, init=False)
    """An upper bound on its bytes in the cache, with its key; set when it is kept."""

    @cached_property
    def tag(self) -> bytes:
        """A hash that identifies the body."""
        # It protects nothing, so a fast hash will do: SHA-256 would take ten times as long.
        return xxhash.xxh3_128_hexdigest(self.body).encode()

    @property
    def most_bytes(self) -> int:
        """An upper bound on the bytes of the answer and all its forms."""
        shown = len(self.body) + len(self.picture or b"")
        return OVERHEAD + FORMS * shown + len(self.app or b"")


class Result(NamedTuple):
    """The result of a call: its answer, what is left of the caller's quotas, and the arguments."""

    answer: Answer
    allowance: Allowance
    arguments: Arguments
    """As they were validated; a surface may remember them for the same request."""


Key = tuple[Hashable, ...]


class Answers(LRUCache[Key, Answer]):
    """A cache of the sealed answers used last. They never expire, since a night never changes."""

    def __init__(self, kept_bytes: int = KEPT_BYTES) -> None:
        super().__init__(kept_bytes, getsizeof=lambda answer: answer.kept_bytes)

    def keep(self, key: Key, answer: Answer) -> None:
        """Keep an answer if it is lasting and fits; the answers used longest ago make room."""
        answer.kept_bytes = answer.most_bytes + sum(map(_size, key))
        if answer.lasting and answer.kept_bytes <= self.maxsize:
            self[key] = answer


def _size(part: Hashable) -> int:
    """The bytes of a part of a key, and of what is in it."""
    inner = part if isinstance(part, tuple) else ()
    return sys.getsizeof(part) + sum(map(sys.getsizeof, inner))
