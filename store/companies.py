"""Companies: the names of a night's symbols as people read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from store.book import Book
from store.lines import short

Entry = Mapping[str, Any]
"""What the universe of a night says of one symbol."""

COMMON = " Common Stock"
"""What most names of reference tables end with, and which tells no company from another."""


LONGEST_NAME = 120
"""Characters of a name that people are shown."""


def company_name(entry: Entry) -> str:
    """The name in an entry; empty where the reference table gives none."""
    return short((entry.get("name") or "").removesuffix(COMMON), LONGEST_NAME)


def company_names(book: Book) -> dict[str, str]:
    """The name of each covered symbol that has one."""
    entries = orjson.loads(b"{%b}" % book.universe())["symbols"]
    return {entry["symbol"]: name for entry in entries if (name := company_name(entry))}
