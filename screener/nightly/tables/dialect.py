"""The dialect of a text: its encoding, its separator, and where its header and its rows begin.

All of it is decided from the first lines. Programs write titles, comments and addresses above the
header, and some write no header at all.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from screener.nightly.errors import SourceError
from screener.nightly.tables.columns import NEEDED, bar_columns, squeeze
from screener.nightly.tables.wide import joined_names

HEAD: Final = 1 << 18
"""The bytes that decide. The header of a table of some hundred tickers is long."""
MAX_LINES: Final = 40
"""The most lines above the header."""
ENOUGH: Final = 3
"""The fewest known columns in a line that is a header."""
MAX_COLUMNS: Final = 20_000
SEPARATORS: Final = (",", ";", "\t", "|")
BINANCE: Final = (
    *("open_time", "open", "high", "low", "close", "volume", "close_time", "quote_volume"),
    *("count", "taker_buy_volume", "taker_buy_quote_volume", "ignore"),
)
_OHLC: Final = ("open", "high", "low", "close", "volume")
HEADERLESS: Final[Mapping[str, tuple[str, ...]]] = {
    **{"N" * count: BINANCE[:count] for count in range(6, len(BINANCE) + 1)},
    "DTNNNNN": ("date", "time", *_OHLC),
    "DTNNNN": ("date", "time", *_OHLC[:-1]),
    "DNNNNN": ("date", *_OHLC),
    "DNNNN": ("date", *_OHLC[:-1]),
    "WDNNNNN": ("symbol", "date", *_OHLC),
    "WDNNNN": ("symbol", "date", *_OHLC[:-1]),
}
"""The columns of rows without a header, by the kinds of their cells."""
MAX_CONTROLS: Final = 0.05
_CONTROLS: Final = bytes(code for code in range(1, 32) if code not in b"\t\n\r\f")
_KINDS: Final = (
    ("D", re.compile(r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}([T ].*)?|(19|20)\d{6}([T ]\d{4,6})?")),
    ("T", re.compile(r"\d{1,2}:\d\d(:\d\d)?")),
    ("N", re.compile(r"-?\d+([.,]\d+)?([eE][-+]?\d+)?")),
    ("W", re.compile(r"[A-Za-z][\w.^=-]*")),
)
OLD_ENCODINGS: Final = ("cp1252", "cp1250", "gb18030", "shift_jis", "cp949", "big5", "cp1251")
"""Encodings of old programs; of those in which a header names equally many columns, the first."""
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True, slots=True)
class Dialect:
    """How the rows of a text are read."""

    separator: str
    names: tuple[str, ...]
    skip: int

    def scan(self, source: bytes | Path) -> pl.LazyFrame:
        """The rows of a text or a file, lazily, as texts. A short row is filled, a long one cut."""
        return pl.scan_csv(
            source,
            separator=self.separator,
            has_header=False,
            skip_lines=self.skip,
            schema=dict.fromkeys(self.names, pl.String),
            missing_columns="insert",
            extra_columns="ignore",
            truncate_ragged_lines=True,
            ignore_errors=True,
            encoding="utf8-lossy",
            glob=False,
        )


def encoding_of(head: bytes) -> str:
    """The encoding of a text by its first bytes: UTF-8, UTF-16, or else that of old Windows."""
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return encoding
    for first, encoding in ((0, "utf-16-be"), (1, "utf-16-le")):
        if len(head) > 1 and not any(head[first:64:2]) and all(head[1 - first : 64 : 2]):
            return encoding
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        lines = head.split(b"\n", MAX_LINES)[:MAX_LINES]
        columns = {each: max(_columns_of(line, each) for line in lines) for each in OLD_ENCODINGS}
        best = max(OLD_ENCODINGS, key=lambda each: columns[each])
        return best if columns[best] >= ENOUGH else OLD_ENCODINGS[0]
    return "utf-8"


def _columns_of(line: bytes, encoding: str) -> int:
    """How many columns of bars a line names in an encoding; 0 if it cannot be read so."""
    try:
        text = line.decode(encoding)
    except UnicodeDecodeError:
        return 0
    return len(_roles(_cells(text, max(SEPARATORS, key=text.count))))


def is_text(head: bytes) -> bool:
    """Whether the first bytes are those of a text, which has few control characters."""
    return len(head) - len(head.translate(None, _CONTROLS)) <= MAX_CONTROLS * len(head)


def recode(data: bytes, encoding: str) -> bytes:
    """A text in UTF-8 without NUL bytes, with line breaks that are newlines."""
    if encoding != "utf-8":
        data = data.decode(encoding, "replace").encode()
    data = data.replace(b"\0", b"")
    return data if b"\n" in data[:HEAD] else data.replace(b"\r", b"\n")


def tell_dialect(head: str, label: str) -> Dialect:
    """The dialect of a text by its first lines.

    Raises:
        SourceError: the text is empty, or no table.
    """
    lines = [line.rstrip("\r") for line in head.split("\n", MAX_LINES)][:MAX_LINES]
    if not any(line.strip() for line in lines):
        raise SourceError(f"{label} is empty; write one row a day under a header row.")
    for number, line in enumerate(lines):
        marks = [mark for mark in SEPARATORS if mark in line] or SEPARATORS[:1]
        separator = max(marks, key=lambda mark: len(_roles(_cells(line, mark))))
        names, below = _cells(line, separator), _cells("".join(lines[number + 1 :][:1]), separator)
        if (nested := joined_names(names, below)) is not None:
            return Dialect(separator, _unique(nested, label), number + 2)
        if len(_roles(names)) >= ENOUGH:
            return Dialect(separator, _unique(_shifted(names, below), label), number + 1)
    return _headerless(lines) or _unknown(lines, label)


def _roles(names: Sequence[str]) -> set[str]:
    found = bar_columns(names)
    return {column for column in (*NEEDED, "volume") if squeeze(found.get(column, ""))}


def _cells(line: str, separator: str) -> list[str]:
    try:
        row = next(csv.reader([line], delimiter=separator, skipinitialspace=True), [])
    except csv.Error:
        return []
    return [cell.strip() for cell in row]


def _shifted(names: list[str], first: Sequence[str]) -> list[str]:
    """The names with one for an index that the header leaves out, as R's does."""
    lacks = "date" not in bar_columns(names) and len(first) == len(names) + 1
    return ["", *names] if lacks else names


def _unique(names: Sequence[str], label: str) -> tuple[str, ...]:
    """The names as they are written. If columns share a name, the first keeps it."""
    if len(names) > MAX_COLUMNS:
        raise SourceError(f"{label} has more than {MAX_COLUMNS:,} columns; split it.")
    found: dict[str, None] = {}
    for place, name in enumerate(names):
        taken = name in found or (not name and place > 0)
        found[f"column {place + 1}" if taken else name] = None
    return tuple(found)


def _headerless(lines: Sequence[str]) -> Dialect | None:
    """The dialect of a text whose first line is a row of bars, by the kinds of its cells."""
    number = next(place for place, line in enumerate(lines) if line.strip())
    for separator in SEPARATORS:
        kinds = "".join(map(_kind, _cells(lines[number], separator)))
        if kinds in HEADERLESS:
            return Dialect(separator, HEADERLESS[kinds], number)
    return None


def _unknown(lines: Sequence[str], label: str) -> Dialect:
    """The dialect of the first line with several cells, whose names will be found wanting."""
    for number, line in enumerate(lines):
        separator = max(SEPARATORS, key=line.count)
        if separator in line:
            return Dialect(separator, _unique(_cells(line, separator), label), number + 1)
    raise SourceError(f"{label} is not a table; write one row a day under a header row.")


def _kind(cell: str) -> str:
    return next((kind for kind, pattern in _KINDS if pattern.fullmatch(cell)), "?")
