"""Tables: how many tokens the tools and their answers are, and whether a page still says so."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import islice
from statistics import median_low
from typing import Any

from benchmarks.markdown import table
from benchmarks.tokens.collect import Offer, compact
from benchmarks.tokens.counter import count_each

BEGIN, END = "<!-- tokens -->\n", "\n<!-- /tokens -->"
NUMBER = re.compile(r"\d[\d,]*")
TOLERANCE, SLACK = 0.03, 5
"""How far a number of the page may be from the code's: a share of it, or a few tokens."""
WORDS = ("name", "description", "inputSchema")


def indented(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """JSON as some hosts show it to their model."""
    return json.dumps(value, indent=2, ensure_ascii=False)


def offer_table(offer: Offer) -> str:
    """What an address costs before anything is asked: each tool, and all of them."""
    words = [{name: tool[name] for name in WORDS} for tool in offer.tools]
    whole = {"tools": offer.tools}
    named = {
        f"`{tool['name']}`": [compact(w), compact(tool)]
        for w, tool in zip(words, offer.tools, strict=True)
    }
    named["all, as sent"] = [compact(words), compact(whole)]
    named["all, indented by a host"] = [indented(words), indented(whole)]
    named["the instructions"] = [offer.instructions]
    counts = count_each(list(named.values()))
    rows = [[what, *map(_number, each)] for what, each in zip(named, counts, strict=True)]
    rows[-1].append("")  # instructions have no schema
    return table(("tool", "name, description and arguments", "with the schema of its answer"), rows)


def answer_table(nights: Mapping[str, Mapping[str, Sequence[str]]]) -> str:
    """What the answers cost, by the name of the night: the middle one, and the largest."""
    asked = dict.fromkeys(what for answers in nights.values() for what in answers)
    cells = [answers.get(what, ()) for what in asked for answers in nights.values()]
    spreads = map(_spread, count_each(cells))
    rows = [[what, *islice(spreads, len(nights))] for what in asked]
    return table(("answer", *nights), rows)


def with_tables(page: str, tables: str) -> str:
    """A page with other tables between its marks."""
    before, _, rest = page.partition(BEGIN)
    return before + BEGIN + tables + END + rest.partition(END)[2]


def tables_of(page: str) -> str:
    """The tables between the marks of a page."""
    return page.partition(BEGIN)[2].partition(END)[0]


def outdated(said: str, found: str) -> list[str]:
    """The lines of found tables that the said ones do not have, or have with other numbers."""
    old = said.splitlines()
    return [line for line in found.splitlines() if not any(_close(line, one) for one in old)]


def _close(one: str, other: str) -> bool:
    if NUMBER.sub("#", one) != NUMBER.sub("#", other):
        return False
    pairs = zip(_numbers(one), _numbers(other), strict=True)
    return all(abs(a - b) <= max(SLACK, TOLERANCE * a) for a, b in pairs)


def _numbers(line: str) -> list[int]:
    return [int(number.replace(",", "")) for number in NUMBER.findall(line)]


def _spread(counts: Sequence[int]) -> str:
    if not counts:
        return ""
    middle, largest = median_low(counts), max(counts)
    return _number(middle) if middle == largest else f"{middle:,} to {largest:,}"


def _number(count: int) -> str:
    return f"{count:,}"
