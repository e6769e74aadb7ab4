"""Pages: finished answers, kept with what is derived from them: ETag, compressed forms, JSON text.

An answer that depends on the night and its arguments alone is made once and then only handed out;
each derived form is made when it is first asked for.
"""

from __future__ import annotations

import gzip
from collections import OrderedDict
from collections.abc import Hashable
from functools import cached_property
from typing import Any

import orjson
import xxhash
import zstandard

KEPT_BYTES = 8 * 1024 * 1024
"""All kept pages together, by a bound on what each may come to."""

DERIVED = 2.5
"""A page with its text and compressed forms is at most about this many times its body."""


class Page:
    """One finished answer."""

    def __init__(self, body: bytes, arguments: Any = None) -> None:  # noqa: ANN401 - any model
        self.body = body
        self.arguments = arguments
        """What it answers, as it was understood."""
        self.forms: dict[Hashable, Any] = {}
        """How a surface sends it, each way once prepared."""

    @cached_property
    def tag(self) -> bytes:
        """The opaque tag of the body itself, for a strong ETag (RFC 9110 section 8.8.3)."""
        # It tells bytes apart and guards nothing: SHA-256 would take ten times as long.
        return xxhash.xxh3_128_hexdigest(self.body).encode()

    @cached_property
    def text(self) -> bytes:
        """The body as one JSON string, quoted and escaped."""
        return orjson.dumps(self.body.decode())

    @cached_property
    def zstd(self) -> bytes:
        """The body compressed by RFC 8878."""
        compressed: bytes = zstandard.ZstdCompressor(level=3).compress(self.body)
        return compressed

    @cached_property
    def gzip(self) -> bytes:
        """The body compressed by RFC 1952, without a time, so that it is always the same."""
        return gzip.compress(self.body, compresslevel=6, mtime=0)


class Pages:
    """The pages used last: a cache that needs no expiry, since nights never change."""

    def __init__(self, kept_bytes: int = KEPT_BYTES) -> None:
        self._room = kept_bytes
        self._pages: OrderedDict[Hashable, Page] = OrderedDict()

    def get(self, key: Hashable) -> Page | None:
        """A kept page."""
        page = self._pages.get(key)
        if page is not None:
            self._pages.move_to_end(key)
        return page

    def put(self, key: Hashable, page: Page) -> None:
        """Keep a page, forgetting those used longest ago."""
        replaced = self._pages.pop(key, None)
        self._pages[key] = page
        self._room += (_size(replaced) if replaced else 0) - _size(page)
        while self._room < 0:
            self._room += _size(self._pages.popitem(last=False)[1])


def _size(page: Page) -> int:
    return int(len(page.body) * DERIVED)
