"""Industries: translate the industry names of reference tables to the labels of the scan's filter.

Reads the shipped tables `shipped/industries.csv` (names used by Nasdaq, GICS and Yahoo) and
`shipped/funds.csv` (phrases in fund names). An empty label is deliberate: the name is too broad for
any one label.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from types import MappingProxyType

from store.wire.labels import INDUSTRIES


def industry_label(industry: str | None, sector: str | None = None) -> str | None:
    """The label of an industry name in any case and punctuation; None if none fits.

    A few of Nasdaq's industries mean different things in different sectors, so the pair of sector
    and industry is tried first. Without an industry the sector is used alone.
    """
    said, within = words(industry or ""), words(sector or "")
    table = _industries()
    for key in ((within, said), ("", said)) if said else (("", within),):
        if key in table:
            return table[key]
    return None


def fund_label(name: str | None) -> str | None:
    """The label that a phrase in a fund's name determines; None if no phrase does."""
    padded = f" {words(name or '')} "
    return next((label for phrase, label in _funds() if f" {phrase} " in padded), None)


def words(text: str) -> str:
    """The words of a text in lower case, with `&` spelled out: the key for matching the tables."""
    return " ".join(re.findall(r"[a-z0-9]+", text.casefold().replace("&", " and ")))


@cache
def _industries() -> Mapping[tuple[str, str], str | None]:
    table: dict[tuple[str, str], str | None] = {("", words(label)): label for label in INDUSTRIES}
    for row in _rows("industries.csv"):
        table[words(row["sector"]), words(row["industry"])] = row["label"] or None
    return MappingProxyType(table)


@cache
def _funds() -> tuple[tuple[str, str | None], ...]:
    """Phrases with their labels; the first phrase that a name contains decides."""
    return tuple((words(row["phrase"]), row["label"] or None) for row in _rows("funds.csv"))


def _rows(name: str) -> Iterator[dict[str, str]]:
    table = resources.files("nightly") / "shipped" / name
    yield from csv.DictReader(table.read_text(encoding="utf-8").splitlines())
