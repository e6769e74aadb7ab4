"""Scan order: sorts all matching rows of a scan by a column, and takes one page of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mcp_server.operations.scan import Found, page
from store.book import Book
from web.condition_words import LABELS

Numbers = npt.NDArray[np.float64]

RANK = "rank"


@dataclass(frozen=True, slots=True)
class Column:
    """What a list of setups can be sorted by."""

    label: str
    numbers: Callable[[Book], Numbers]
    """One for each row of the scan; NaN comes last in either direction."""
    upward: str
    downward: str
    """The two directions in words."""
    first: str = ""
    """What a click on its heading does first: `-` for downward."""


def _evidence(name: str) -> Callable[[Book], Numbers]:
    return lambda book: book.evidence.numbers[name]


COLUMNS: Mapping[str, Column] = {
    "symbol": Column("Symbol", lambda book: book.scan.symbols, "A to Z", "Z to A"),
    "distance": Column("Distance", _evidence("dist_to_entry"), "nearest first", "farthest first"),
    "min_rr": Column(LABELS["min_rr"], _evidence("min_rr"), "lowest first", "highest first", "-"),
    "gain": Column(
        LABELS["typical_return"], _evidence("typical_return"), "lowest first", "highest first", "-"
    ),
    "sample": Column(
        "Sample", lambda book: book.scan.trades, "smallest first", "largest first", "-"
    ),
}
"""By the name in the address; `-` in front of it sorts downward."""

SORTS: Mapping[str, str] = {
    RANK: "Rank",
    **{
        f"{sign}{name}": f"{column.label}, {words}"
        for name, column in COLUMNS.items()
        for sign, words in (("", column.upward), ("-", column.downward))
    },
}
"""Every order in words."""


def page_in_order(
    book: Book, found: Found, status: str, sort: str, offset: int, limit: int
) -> tuple[int, list[int]]:
    """The number of matching rows, and the rows of one page.

    Rows that are equal in a column stand in the order of rank. By rank the order is the API's: of
    all setups the forming ones come first.
    """
    groups = found.groups(status)
    if sort == RANK:
        return page(groups, offset, limit)
    rows = np.flatnonzero(np.logical_or.reduce(groups))
    if not len(rows):
        return 0, []
    numbers = COLUMNS[sort.lstrip("-")].numbers(book)[rows]
    order = np.argsort(-numbers if sort.startswith("-") else numbers, kind="stable")
    return len(rows), rows[order][offset : offset + limit].tolist()
