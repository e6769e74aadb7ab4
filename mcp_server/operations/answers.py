"""Answers: what operations answer, finished, and the cache of those that a night has sealed.

An answer that depends on the night and its arguments alone is made once and then only handed out,
with the forms that surfaces have made of it: compressed bodies, JSON text.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable
from functools import cached_property
from typing import Any, NamedTuple

import xxhash
from cachetools import LRUCache

from mcp_server.operations.allowances import Allowance

KEPT_BYTES = 16 * 1024 * 1024
"""All kept answers together, their keys and all their forms included."""

FORMS = 5
"""An answer with all its forms is at most so many times its body: the body, its text with every
character escaped, and two compressed copies that compress nothing."""

OVERHEAD = 2048
"""Bytes of the objects around one answer."""

JSON, PNG = "application/json", "image/png"


class Answer:
    """One finished answer: a JSON object with its envelope, or a picture."""

    def __init__(
        self,
        body: bytes,
        media_type: str = JSON,
        *,
        picture: bytes | None = None,
        caption: str | None = None,
        lasting: bool = True,
    ) -> None:
        self.body = body
        self.media_type = media_type
        self.picture = picture
        """A PNG that is shown beside the JSON, where the surface can show one."""
        self.caption = caption
        """What a picture shows, in words."""
        self.lasting = lasting
        """False for an answer that lacks something only for now."""
        self.forms: dict[Hashable, Any] = {}
        """How a surface sends it, each way once it was prepared."""
        self.kept_bytes = 0
        """A bound on what it takes in a cache, with its key; set when it is kept."""

    @cached_property
    def tag(self) -> bytes:
        """What tells this body from others."""
        # It guards nothing: SHA-256 would take ten times as long.
        return xxhash.xxh3_128_hexdigest(self.body).encode()

    @property
    def most_bytes(self) -> int:
        """A bound on what the answer and all its forms take."""
        return OVERHEAD + FORMS * (len(self.body) + len(self.picture or b""))


class Result(NamedTuple):
    """What came of a call: its answer, and what is left of the caller's quotas."""

    answer: Answer
    allowance: Allowance


Key = tuple[Hashable, ...]


class Answers(LRUCache[Key, Answer]):
    """The sealed answers used last. They need no expiry: a night never changes."""

    def __init__(self, kept_bytes: int = KEPT_BYTES) -> None:
        super().__init__(kept_bytes, getsizeof=lambda answer: answer.kept_bytes)

    def keep(self, key: Key, answer: Answer) -> None:
        """Keep an answer, forgetting those used longest ago."""
        answer.kept_bytes = answer.most_bytes + sum(map(sys.getsizeof, key))
        if answer.lasting and answer.kept_bytes <= self.maxsize:
            self[key] = answer
