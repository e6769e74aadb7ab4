"""Companies: the names of a night's symbols as people read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from store.book import Book

Entry = Mapping[str, Any]
"""What the universe of a night says of one symbol."""

COMMON = " Common Stock"
"""What most names of reference tables end with, and which tells no company from another."""


def company_name(entry: Entry) -> str:
    """The name in an entry; empty where the reference table gives none."""
    return (entry.get("name") or "").removesuffix(COMMON)


def company_names(book: Book) -> dict[str, str]:
    """The name of each covered symbol that has one."""
    entries = orjson.loads(b"{%b}" % book.universe())["symbols"]
    return {entry["symbol"]: name for entry in entries if (name := company_name(entry))}
