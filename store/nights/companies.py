"""Companies: the names of a night's symbols as people read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from store.nights.book import Book
from store.wire.words import short

Entry = Mapping[str, Any]
"""What the universe of a night says of one symbol."""

COMMON = " Common Stock"
"""What most names of reference tables end with, and which tells no company from another."""


LONGEST_NAME = 120
"""Characters of a name that people are shown."""


def entries_of(book: Book) -> list[Entry]:
    """What a night says of the symbols that it covers, in lines that people and agents may read:
    a night may have been sealed before names were cleaned.
    """
    entries: list[Entry] = orjson.loads(b"{%b}" % book.universe())["symbols"]
    return [{k: short(v, LONGEST_NAME) if v else v for k, v in e.items()} for e in entries]


def company_name(entry: Entry) -> str:
    """The name in an entry; empty where the reference table gives none."""
    return (entry.get("name") or "").removesuffix(COMMON)


def company_names(book: Book) -> dict[str, str]:
    """The name of each covered symbol that has one."""
    return {entry["symbol"]: name for entry in entries_of(book) if (name := company_name(entry))}
