"""Sheets: rows of values as CSV, for spreadsheets and terminals."""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Iterable, Sequence

from store.wire.words import harmless

FORMULA = ("=", "+", "-", "@")
"""What a formula begins with."""


def csv_text(rows: Iterable[Sequence[object]]) -> str:
    """The rows as CSV (RFC 4180: lines end in CRLF, quotes are doubled), in which no text of a
    stranger is a formula.
    """
    text = io.StringIO(newline="")
    csv.writer(text).writerows(map(_cells, rows))
    return text.getvalue()


def _cells(row: Sequence[object]) -> list[object]:
    return [_cell(value) if isinstance(value, str) else value for value in row]


def _cell(text: str) -> str:
    """A text that neither steers a terminal nor is a formula to a spreadsheet."""
    plain = harmless(text)
    # A spreadsheet passes over spaces, and takes full-width signs as the usual ones.
    read = unicodedata.normalize("NFKC", plain).lstrip()
    return f"'{plain}" if read.startswith(FORMULA) else plain
