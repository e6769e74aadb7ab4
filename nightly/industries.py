"""Industries: what reference tables say, in the labels that the scan filters by.

Owns the shipped tables `shipped/industries.csv` (Nasdaq's, GICS's and Yahoo's words) and
`shipped/funds.csv` (words in the names of funds). An empty label in a table is a decision: the word
covers too much for any one label.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from types import MappingProxyType

from store.labels import INDUSTRIES


def industry_label(industry: str | None, sector: str | None = None) -> str | None:
    """The label of an industry's name, whatever its case and punctuation; None if none fits.

    A few of Nasdaq's industries mean different things in different sectors, so the sector is asked
    first; where no industry is given, the sector stands for it.
    """
    said, within = words(industry or ""), words(sector or "")
    table = _industries()
    for key in ((within, said), ("", said)) if said else (("", within),):
        if key in table:
            return table[key]
    return None


def fund_label(name: str | None) -> str | None:
    """The label that the words in a fund's name make clear, None if they do not."""
    padded = f" {words(name or '')} "
    return next((label for phrase, label in _funds() if f" {phrase} " in padded), None)


def words(text: str) -> str:
    """Lower-case words alone, `&` spelled out: the key under which the tables are matched."""
    return " ".join(re.findall(r"[a-z0-9]+", text.casefold().replace("&", " and ")))


@cache
def _industries() -> Mapping[tuple[str, str], str | None]:
    table: dict[tuple[str, str], str | None] = {("", words(label)): label for label in INDUSTRIES}
    for row in _rows("industries.csv"):
        table[words(row["sector"]), words(row["industry"])] = row["label"] or None
    return MappingProxyType(table)


@cache
def _funds() -> tuple[tuple[str, str | None], ...]:
    """Phrases with their labels; the first that a name contains decides."""
    return tuple((words(row["phrase"]), row["label"] or None) for row in _rows("funds.csv"))


def _rows(name: str) -> Iterator[dict[str, str]]:
    table = resources.files("nightly") / "shipped" / name
    yield from csv.DictReader(table.read_text(encoding="utf-8").splitlines())
