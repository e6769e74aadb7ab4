"""Setups: the current setups of a night with what pages and commands say beside the API's fields.

That is `entry_price`, the price at which a running trade began; null before, or if a night did not
keep it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from mcp_server.operations.patterns import patterns_body
from store.book import Book
from store.levels import Levels

Fields = Mapping[str, Any]


def current_setups(book: Book, symbol: str) -> list[Fields]:
    """The Setups of a symbol in serving order, with `distance_to_trigger_pct` as in the scan."""
    briefs = orjson.loads(b"[%b]" % book.briefs(symbol))
    distances = {brief["setup_id"]: brief["distance_to_trigger_pct"] for brief in briefs}
    setups = with_entries(book, orjson.loads(patterns_body(book, symbol))["setups"])
    return [{**each, "distance_to_trigger_pct": distances.get(each["setup_id"])} for each in setups]


def with_entries(book: Book, setups: Iterable[Fields]) -> list[Fields]:
    """Setups, or rows of the scan, with their entries."""
    return [{**setup, "entry_price": _entry(book, setup)} for setup in setups]


def levels_of(setup: Fields, plan: Fields | None = None) -> Levels:
    """The levels of a plan of a setup that has its entry, of the first one if none is given."""
    return Levels.of(plan or setup["plans"][0], setup["entry_price"])


def _entry(book: Book, setup: Fields) -> float | None:
    return None if setup["status"] == "forming" else book.entry_price(setup["setup_id"])
