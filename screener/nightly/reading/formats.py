"""Formats: the bars in a CSV, Parquet, Arrow, JSON or Excel file, recognised by its content and not
its name.
"""

from __future__ import annotations

import gzip
import io
import warnings
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import orjson
import polars as pl

from screener.nightly.errors import SourceError
from screener.nightly.reading.files import magic
from screener.nightly.tables.columns import bar_columns
from screener.nightly.tables.dialect import ENOUGH, HEAD, encoding_of, is_text, recode, tell_dialect
from screener.nightly.tables.layout import BarsTable, lay_out
from screener.nightly.tables.raw import BROKEN, RawTable

TABLES: Final[Mapping[str | None, str]] = {"parquet": "Parquet", "arrow": "Arrow (feather)"}
OTHERS: Final[Mapping[str | None, str]] = {
    "excel": "an Excel workbook; put it in a folder, or save its sheet as CSV.",
    **{
        kind: f"a {kind} inside another archive; unpack it."
        for kind in ("zip", "gzip", "tar", "xz", "bzip2", "zstandard")
    },
}
PAGES: Final[Mapping[bytes, str]] = {
    b"<!doctype": "a web page; download the table instead of the page that shows it.",
    b"<html": "a web page; download the table instead of the page that shows it.",
    b"<?xml": "XML; save the table as CSV.",
    b"{": "a JSON object; write a CSV file, or a list of rows of time, prices and volume.",
    b"[": "JSON; write one CSV or Parquet table.",
}
CANDLES: Final = tuple(
    ("date", *names.split())
    for names in (
        "open high low close vwap volume",  # Kraken
        "open high low close volume",
        "low high open close volume",  # Coinbase
        "open close high low volume",  # Bitfinex, KuCoin
    )
)
"""What stands in a row of the lists that exchanges write as JSON; the order that fits the most rows
counts.
"""
END: Final = 1 << 16
"""Bytes at the end of a text in which its last rows are."""
_UNCLOSED: Final = "{} cannot be read as a table; look for a quotation mark that is not closed."
MAX_ROWS: Final = 20_000_000
MAX_RECODED: Final = 64 << 20
"""The largest file of an unusual encoding, which must be read into memory."""


def read_bars(data: bytes, *, label: str, date: str = "") -> BarsTable:
    """The bars of one file in any known form, in memory, of one `date` if it has no column of them.
    Every error begins with its label.

    Raises:
        SourceError: the form is unknown, or the columns cannot be read.
    """
    try:
        raw = _raw_of(data, label)
        if date and "date" not in bar_columns(raw.names):
            raw = replace(raw, rows=raw.rows.with_columns(pl.lit(date).alias("date")))
        return lay_out(raw).loaded()
    except (*BROKEN, ValueError) as error:
        raise SourceError(f"{label} cannot be read ({type(error).__name__}).") from error


def _raw_of(data: bytes, label: str) -> RawTable:
    """The raw table in the bytes of one file, whatever its format.

    Raises:
        SourceError: the format is unknown, or the file holds no table or too many rows.
    """
    kind = magic(data[:512])
    if kind in TABLES:
        scan = pl.scan_parquet if kind == "parquet" else pl.scan_ipc
        rows = scan(io.BytesIO(data))
        if rows.select(pl.len()).collect().item() > MAX_ROWS:
            raise SourceError(f"{label} has more than {MAX_ROWS:,} rows; split it.")
        return RawTable(label, rows.collect().lazy(), TABLES[kind], whole=True)
    if kind == "excel":
        return _workbook(data, label)
    if kind is not None:
        raise SourceError(f"{label} is {OTHERS[kind]}")
    if data.lstrip()[:1] in (b"[", b"{"):
        return _json(data, label)
    encoding = encoding_of(data[:HEAD])
    text = _unquoted(recode(data, encoding))
    dialect = tell_dialect(_checked(text[:HEAD], label), label)
    _check_end(text, dialect.separator, label)
    table = _collected(dialect.scan(text), label)
    if not len(table):
        raise SourceError(f"{label} has a header and no row; write one row a day under it.")
    return RawTable(label, table.lazy(), "CSV", dialect.separator, True, True)


def _unquoted(text: bytes) -> bytes:
    """A text without quotation marks around whole lines, which spreadsheets write."""
    lines = text[:HEAD].removeprefix(b"\xef\xbb\xbf").split(b"\n", 3)[:3]
    start = [line.rstrip(b"\r") for line in lines if line]
    quoted = [line.startswith(b'"') and line.endswith(b'"') for line in start]
    if len(start) < 2 or not all(quoted) or any(line.count(b'"') > 2 for line in start):
        return text
    return b"\n".join(line.strip(b'"') for line in text.splitlines())


def _check_end(text: bytes, separator: str, label: str) -> None:
    """Check that a download did not end in the middle of a row.

    Raises:
        SourceError: the last line has fewer cells than those before it, and no end.
    """
    if text.endswith((b"\n", b"\r")):
        return
    mark = separator.encode()
    *before, last = text[-END:].splitlines()[-4:]
    cells = {line.count(mark) for line in before}
    if len(before) == 3 and len(cells) == 1 and 0 < last.count(mark) < min(cells):
        raise SourceError(f"{label} ends in the middle of a row; fetch it again.")


def _collected(rows: pl.LazyFrame, label: str) -> pl.DataFrame:
    """The rows of a text."""
    try:
        with _warned_of(label):
            return rows.collect()
    except pl.exceptions.ComputeError as error:
        raise SourceError(_UNCLOSED.format(label)) from error


@contextmanager
def _warned_of(label: str) -> Iterator[None]:
    """Refuse a text that polars cannot take apart, and only warns of."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        yield
    if warned:
        raise SourceError(_UNCLOSED.format(label))


def _scan_raw(file: Path) -> RawTable:
    """The raw table in a file, lazily, whatever its format.

    Raises:
        SourceError: the format is unknown, or the file holds no table.
    """
    label = file.name
    with file.open("rb") as stream:
        kind = magic(stream.read(512))
        stream.seek(0)
        try:
            head = gzip.GzipFile(fileobj=stream).read(HEAD) if kind == "gzip" else stream.read(HEAD)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise SourceError(f"{label} is a damaged gzip file; fetch it again.") from error
    if kind == "parquet":
        return RawTable(label, pl.scan_parquet(file, glob=False), "table")
    if kind == "arrow":
        return RawTable(label, pl.scan_ipc(file), "table")
    if kind not in (None, "gzip"):
        raise SourceError(f"{label} is {OTHERS[kind]}")
    encoding = encoding_of(head)
    source: Path | bytes = file
    if encoding.startswith("utf-16") or b"\n" not in head:
        if file.stat().st_size > MAX_RECODED:
            raise SourceError(f"{label} is too large for its encoding; save it as UTF-8.")
        source = recode(file.read_bytes(), encoding)
        head, encoding = source[:HEAD], "utf-8"
    dialect = tell_dialect(_checked(head, label, encoding), label)
    return RawTable(label, dialect.scan(source), "CSV table", dialect.separator, True)


def _checked(head: bytes, label: str, encoding: str = "utf-8") -> str:
    """The first lines of a text, unless they are of another kind than a table."""
    start = head.lstrip()[:256].lower()
    if not is_text(head):
        raise SourceError(f"{label} is neither text nor Parquet; write a CSV or Parquet file.")
    for mark, said in PAGES.items():
        if start.startswith(mark):
            raise SourceError(f"{label} is {said}")
    return head.decode(encoding, "replace")


def scan_bars(file: Path) -> BarsTable:
    """The bars of a file, lazily, with canonical columns.

    Raises:
        SourceError: the file holds no daily bars, or a column is missing or cannot be read.
    """
    table = lay_out(_scan_raw(file))
    if table.refusal is not None:
        raise SourceError(table.refusal.reason)
    return table


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn what polars raises over a file into one line.

    Raises:
        SourceError: the file cannot be read.
    """
    try:
        with _warned_of(str(path)):
            yield
    except BROKEN as error:
        raise SourceError(
            f"{path} cannot be read ({type(error).__name__}); write it again."
        ) from error


def _workbook(data: bytes, label: str) -> RawTable:
    """The raw table in an Excel workbook, which has one sheet with rows.

    Raises:
        SourceError: it has none or several, is too large, or what reads it is not installed.
    """
    if find_spec("fastexcel") is None:
        raise SourceError(
            f"{label} is an Excel workbook, which needs fastexcel; pip install "
            "'pattern-screener[excel]', or save its sheet as CSV."
        )
    if zipfile.is_zipfile(io.BytesIO(data)):
        sizes = (info.file_size for info in zipfile.ZipFile(io.BytesIO(data)).infolist())
        if sum(sizes) > MAX_RECODED:
            raise SourceError(f"{label} is too large for a workbook; save its sheet as CSV.")
    sheets = pl.read_excel(io.BytesIO(data), sheet_id=0, raise_if_empty=False)
    filled = {name: sheet for name, sheet in sheets.items() if len(sheet)}
    if len(filled) != 1:
        said = f"{len(filled)} sheets with rows" if filled else "no sheet with rows"
        raise SourceError(f"{label} has {said}; save the one with daily bars as CSV.")
    return RawTable(label, filled.popitem()[1].lazy(), "Excel", whole=True)


def _json(data: bytes, label: str) -> RawTable:
    """The raw table in JSON: candles, records, columns of equal length, or a record a line.

    Raises:
        SourceError: the JSON is something else.
    """
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        try:
            found = [orjson.loads(line) for line in data.splitlines() if line.strip()]
        except orjson.JSONDecodeError:
            raise SourceError(f"{label} is broken JSON; fetch it again.") from error
    rows = _rows(found)
    if rows is None:
        raise SourceError(f"{label} is {PAGES[b'{']}")
    if rows and all(isinstance(row, dict) for row in rows):
        records = [
            {name: value for name, value in row.items() if not isinstance(value, dict | list)}
            for row in rows
        ]
        frame = pl.DataFrame(records, infer_schema_length=None, strict=False)
        return RawTable(label, frame.lazy(), "JSON", whole=True)
    return RawTable(label, _candles(rows, label).lazy(), "JSON candles", whole=True)


def _rows(found: object) -> list[Any] | None:
    """The rows in JSON, wherever they are in it: a list, columns by name, or records by date."""
    if isinstance(found, list):
        return found
    if not isinstance(found, dict):
        return None
    within = {name: each for name, each in found.items() if each and isinstance(each, dict | list)}
    if len(bar_columns(list(within))) >= ENOUGH:
        return _across(within)
    dated = [
        {"date": date, **each}
        for date, each in within.items()
        if isinstance(each, dict) and len(bar_columns(list(each))) >= ENOUGH
    ]
    if dated:
        return dated if len(dated) == len(within) else None
    inner = [rows for each in within.values() if (rows := _rows(each)) is not None]
    return inner[0] if len(inner) == 1 else None


def _across(columns: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """The rows of columns of equal length, or of columns with a value for each date."""
    if all(isinstance(column, dict) for column in columns.values()):
        dates = dict.fromkeys(date for column in columns.values() for date in column)
        return [
            {"date": date, **{name: column.get(date) for name, column in columns.items()}}
            for date in dates
        ]
    if len({len(column) for column in columns.values()}) > 1:
        return None
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _candles(rows: list[Any], label: str) -> pl.DataFrame:
    """The raw table of candles, each a list of a time, prices and a volume.

    Raises:
        SourceError: the rows are something else.
    """
    width = min((len(row) if isinstance(row, list) else 0 for row in rows), default=0)
    orders = {names: len(names) for names in CANDLES if len(names) <= width}
    if not orders:
        raise SourceError(
            f"{label} is JSON, but not a list of candles; write rows of time, prices and volume."
        )
    cells = [row[: max(orders.values())] for row in rows]
    frame = pl.DataFrame(cells, orient="row", strict=False, infer_schema_length=None)
    frame = frame.with_columns(pl.first().cast(pl.Int64, strict=False))
    names = max(orders, key=lambda each: _fitting(frame, each))
    return frame.select(pl.nth(place).alias(name) for place, name in enumerate(names))


def _fitting(frame: pl.DataFrame, names: Sequence[str]) -> int:
    """How many rows have no price above the high or below the low, by an order of their cells."""
    price = {name: pl.nth(place).cast(pl.Float64, strict=False) for place, name in enumerate(names)}
    low, high = price.pop("low"), price.pop("high")
    others = [one for name, one in price.items() if name not in ("date", "volume")]
    inside = pl.all_horizontal(low <= high, *(one.is_between(low, high) for one in others))
    return int(frame.select(inside.sum()).item())
