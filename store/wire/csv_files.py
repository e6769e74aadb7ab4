"""CSV files: rows of values as CSV, for spreadsheets and terminals."""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Iterable, Sequence
from typing import TextIO

from store.wire.words import harmless

FORMULA = ("=", "+", "-", "@")
"""What a formula begins with."""


def csv_text(rows: Iterable[Sequence[object]]) -> str:
    """The rows as `write_csv` writes them."""
    text = io.StringIO(newline="")
    write_csv(text, rows)
    return text.getvalue()


def write_csv(stream: TextIO, rows: Iterable[Sequence[object]]) -> None:
    """Write rows of values as CSV (RFC 4180: lines end in CRLF, quotes are doubled), in which no
    text of a stranger is a formula; None is an empty cell.
    """
    csv.writer(stream).writerows(map(_cells, rows))


def _cells(row: Sequence[object]) -> list[object]:
    return [_cell(value) if isinstance(value, str | bool) else value for value in row]


def _cell(value: str | bool) -> str:
    """A text that neither steers a terminal nor is a formula to a spreadsheet; true or false."""
    if isinstance(value, bool):
        return str(value).lower()
    plain = harmless(value)
    # A spreadsheet passes over spaces, and takes full-width signs as the usual ones.
    read = unicodedata.normalize("NFKC", plain).lstrip()
    return f"'{plain}" if read.startswith(FORMULA) else plain
