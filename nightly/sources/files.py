"""Files: identify one CSV, Parquet or Arrow file, and read it as bars.

Nothing here judges a bar, except that rows without a date and repeated dates are removed and
counted, because bars have one row per date.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import warnings
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from nightly.bars import Bars
from nightly.errors import Refusal, SourceError
from nightly.sources.candles import candles
from nightly.sources.dialect import HEAD, encoding_of, is_text, recode, tell_dialect
from nightly.sources.layout import TIME, Layout, lay_out
from nightly.sources.raw import Raw
from nightly.sources.source import EMPTY, NUMBERS
from nightly.sources.spacing import other_interval

MAGIC: Final[Mapping[bytes, str]] = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"PK\x03\x04": "zip",
    b"PK\x05\x06": "zip",
    b"\x1f\x8b": "gzip",
    b"\xd0\xcf\x11\xe0": "excel",
}
TABLES: Final[Mapping[str | None, str]] = {"parquet": "Parquet", "arrow": "Arrow (feather)"}
OTHERS: Final[Mapping[str | None, str]] = {
    "excel": "an Excel workbook; save its sheet as CSV.",
    **{kind: f"a {kind} inside another archive; unpack it." for kind in ("zip", "gzip", "tar")},
}
PAGES: Final[Mapping[bytes, str]] = {
    b"<!doctype": "a web page; download the table instead of the page that shows it.",
    b"<html": "a web page; download the table instead of the page that shows it.",
    b"<?xml": "XML; save the table as CSV.",
    b"{": "a JSON object; write a CSV file, or a list of rows of time, prices and volume.",
    b"[": "JSON; write one CSV or Parquet table.",
}
_SHEETS: Final = (b"[Content_Types].xml", b"_rels/", b"docProps/", b"xl/")
"""How the first member of a zip is named that is a workbook."""
CSV: Final = (".csv", ".csv.gz")
PARQUET: Final = (".parquet", ".pq")
MAX_ROWS: Final = 20_000_000
MAX_RECODED: Final = 64 << 20
"""The largest file of an unusual encoding, which must be read into memory."""


def suffix_of(file: Path) -> str | None:
    """The suffix that marks a file as CSV or Parquet, as it is spelled; None without one."""
    if file.name.startswith("."):
        return None
    lowered = file.name.lower()
    suffix = next((end for end in (*CSV, *PARQUET) if lowered.endswith(end)), None)
    return file.name[-len(suffix) :] if suffix else None


def magic(start: bytes) -> str | None:
    """The kind of a file by its first bytes, regardless of its name; None for text or unknown."""
    known = next((kind for mark, kind in MAGIC.items() if start.startswith(mark)), None)
    if known == "zip" and start[30:].startswith(_SHEETS):
        return "excel"
    return "tar" if known is None and start[257:262] == b"ustar" else known


def raw_of(data: bytes, label: str) -> Raw:
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
        return Raw(label, rows.collect().lazy(), TABLES[kind], whole=True)
    if kind is not None:
        raise SourceError(f"{label} is {OTHERS[kind]}")
    if data.lstrip()[:1] == b"[":
        return Raw(label, candles(data, label).lazy(), "JSON candles", whole=True)
    encoding = encoding_of(data[:HEAD])
    text = recode(data, encoding)
    dialect = tell_dialect(_checked(text[:HEAD], label), label)
    table = _collected(dialect.scan(text), label)
    if not len(table):
        raise SourceError(f"{label} has a header and no row; write one row a day under it.")
    return Raw(label, table.lazy(), dialect.form or "CSV", dialect.separator, True, True)


def _collected(rows: pl.LazyFrame, label: str) -> pl.DataFrame:
    """The rows of a text. Polars only warns of some texts that it cannot take apart."""
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            table = rows.collect()
    except pl.exceptions.ComputeError:
        table = None
    if table is None or warned:
        raise SourceError(
            f"{label} cannot be read as a table; look for a quotation mark that is not closed."
        )
    return table


def scan_raw(file: Path) -> Raw:
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
        return Raw(label, pl.scan_parquet(file, glob=False), "table")
    if kind == "arrow":
        return Raw(label, pl.scan_ipc(file), "table")
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
    return Raw(label, dialect.scan(source), dialect.form or "CSV table", dialect.separator, True)


def _checked(head: bytes, label: str, encoding: str = "utf-8") -> str:
    """The first lines of a text, unless they are of another kind than a table."""
    start = head.lstrip()[:256].lower()
    if not is_text(head):
        raise SourceError(f"{label} is neither text nor Parquet; write a CSV or Parquet file.")
    for mark, said in PAGES.items():
        if start.startswith(mark):
            raise SourceError(f"{label} is {said}")
    return head.decode(encoding, "replace")


def scan_bars(file: Path) -> Layout:
    """The bars of a file, lazily, with canonical columns.

    Raises:
        SourceError: the file holds no daily bars, or a column is missing or cannot be read.
    """
    layout = lay_out(scan_raw(file))
    if layout.refusal is not None:
        raise SourceError(layout.refusal.reason)
    return layout


def to_bars(frame: pl.DataFrame) -> tuple[Bars, dict[str, int], Refusal | None]:
    """The bars of one symbol, sorted by date; the findings; and why they are none, if not daily.

    Rows without a date are dropped and counted as `undated_row`. Of rows with the same date the
    last with prices is kept; the others count as `repeated_date`. A missing number becomes NaN.
    """
    findings: dict[str, int] = {}
    undated = frame["date"].null_count()
    if undated:
        findings["undated_row"] = undated
        frame = frame.drop_nulls("date")
    days = frame["date"].to_numpy()
    steps = np.diff(days)
    order: slice | np.ndarray = slice(None)
    if (steps <= 0).any():
        # Of rows with one date those without prices, such as dividends, come first and give way.
        order = np.lexsort((frame["close"].is_not_null().to_numpy(), days))
        last = np.append(np.diff(days[order]) != 0, True)
        if not last.all():
            findings["repeated_date"] = int(np.count_nonzero(~last))
        order = order[last]
    refusal = other_interval(len(frame), days[order], _moments(frame))
    if refusal is not None:
        return EMPTY, {}, refusal
    numbers = (frame[name].to_numpy()[order] for name in NUMBERS)
    return Bars(days[order], *numbers), findings, None


def _moments(frame: pl.DataFrame) -> int | None:
    """How many of some rows differ in date or time; None if the times do not."""
    return frame.select("date", TIME).n_unique() if TIME in frame.columns else None


def file_digest(file: Path) -> str:
    """The SHA-256 of a file's bytes, in hex.

    Raises:
        SourceError: the file cannot be read.
    """
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise SourceError(f"{file} cannot be read ({type(error).__name__}).") from error
