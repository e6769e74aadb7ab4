"""Forms: the formats in which bars are written, recognised by a file's content and not its name.

Every form is read into a table with canonical columns, with a note of the columns that were renamed
or ignored.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import orjson
import polars as pl

from nightly.bars import Adjustment
from nightly.columns import bar_expressions, echo, squeeze
from nightly.errors import SourceError
from nightly.sources.files import CSV_OPTIONS, csv_types, magic

KLINE: Final = (
    *("open_time", "open", "high", "low", "close", "volume", "close_time", "quote_volume"),
    *("count", "taker_buy_volume", "taker_buy_quote_volume", "ignore"),
)
CANDLE: Final = ("date", "open", "high", "low", "close", "volume")
MAX_ROWS: Final = 20_000_000
SEPARATORS: Final = (",", ";", "\t", "|")

_NUMBER: Final = re.compile(r"-?\d+(\.\d+)?([eE][-+]?\d+)?")


@dataclass(frozen=True, slots=True)
class Read:
    """A file of bars: its canonical table, its form, and how its columns were used."""

    frame: pl.DataFrame
    form: str
    columns: Mapping[str, str] = field(default_factory=dict)
    adjustment: Adjustment | None = None
    currency: str | None = None


def read_bars(data: bytes, *, label: str) -> Read:
    """Read the bars of one file in any known form.

    Raises:
        SourceError: the form is unknown, or the bars are not daily.
    """
    try:
        form, table = _table(data)
        _check_daily(table, label)
        frame = table.select(*bar_expressions(table.schema))
    except (pl.exceptions.PolarsError, OSError, ValueError) as error:
        raise SourceError(f"{label} cannot be read ({type(error).__name__}).") from error
    return Read(frame, form, echo(table.columns))


def _table(data: bytes) -> tuple[str, pl.DataFrame]:
    kind = magic(data[:512])
    if kind in ("parquet", "arrow"):
        scan = pl.scan_parquet if kind == "parquet" else pl.scan_ipc
        frame = scan(io.BytesIO(data))
        if frame.select(pl.len()).collect().item() > MAX_ROWS:
            raise SourceError(f"The file has more than {MAX_ROWS:,} rows; split it.")
        return ("Parquet" if kind == "parquet" else "Arrow (feather)"), frame.collect()
    if kind is not None:
        raise SourceError(f"The file is a {kind} inside another archive; unpack it.")
    if data.lstrip()[:1] == b"[":
        return "JSON candles", _candles(data)
    return _text(data)


def _candles(data: bytes) -> pl.DataFrame:
    rows = orjson.loads(data)
    if not all(isinstance(row, list) and len(row) >= len(CANDLE) for row in rows):
        raise SourceError("The JSON is not a list of candles; write rows of time, prices, volume.")
    cut = [row[: len(CANDLE)] for row in rows]
    frame = pl.DataFrame(cut, schema=list(CANDLE), orient="row", strict=False)
    return frame.with_columns(pl.col("date").cast(pl.Int64, strict=False))


def _text(data: bytes) -> tuple[str, pl.DataFrame]:
    """Read delimited text. The first lines show which program wrote it."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    start = data[:65_536].decode("utf-8", "replace").splitlines()[:3]
    separator = max(SEPARATORS, key=lambda mark: start[0].count(mark)) if start else ","
    first, second, third = [*csv.reader(start, delimiter=separator), [], [], []][:3]
    if _is_kline(first):
        return "Binance klines", _csv(data, separator, list(KLINE[: len(first)]))
    if second and squeeze(second[0]) == "ticker":
        if len(set(second[1:]) - {""}) > 1:
            raise SourceError("The file holds several tickers side by side; save one per file.")
        blank = not any(third[1:])
        names = ["Date", *first[1:]]
        return "yfinance CSV", _csv(data, separator, names, 2 + blank)
    names = [name.strip() for name in first]
    form = "Stooq" if names[:1] == ["<TICKER>"] else "CSV"
    if "opentime" in map(squeeze, names) and "closetime" in map(squeeze, names):
        form = "Binance klines"
    if "windowstart" in map(squeeze, names):
        form = "Massive day file"
    return form, _csv(data, separator, names, 1)


def _is_kline(cells: list[str]) -> bool:
    numbers = all(_NUMBER.fullmatch(cell.strip()) for cell in cells)
    return numbers and 6 <= len(cells) <= len(KLINE)


def _csv(data: bytes, separator: str, names: list[str], skip: int = 0) -> pl.DataFrame:
    """The rows after the header, with these names. Of columns with one name the first counts."""
    unique: dict[str, None] = {}
    for place, name in enumerate(names):
        unique.setdefault(name if name and name not in unique else f"column {place + 1}")
    chosen = list(unique)
    types = csv_types(chosen)
    return pl.read_csv(
        data,
        has_header=False,
        skip_rows=skip,
        separator=separator,
        schema={name: types.get(name, pl.String) for name in chosen},
        **CSV_OPTIONS,
    )


def _check_daily(table: pl.DataFrame, label: str) -> None:
    """Refuse a table whose own columns say that its bars are not daily."""
    named = {squeeze(name): name for name in table.columns}
    if "per" in named and table[named["per"]].drop_nulls().str.strip_chars().ne("D").any():
        raise SourceError(f"{label} holds bars that are not daily (PER is not D).")
    if {"opentime", "closetime"} <= named.keys() and len(table):
        opened, closed = (_first(table, named[name]) for name in ("opentime", "closetime"))
        length = closed - opened
        unit = 1_000_000 if abs(opened) >= 1e14 else 1_000
        if 0 < length < 86_399 * unit or length > 86_401 * unit:
            raise SourceError(f"{label} holds bars that are not daily; fetch the interval 1d.")


def _first(table: pl.DataFrame, column: str) -> float:
    values = table[column].cast(pl.Float64, strict=False).drop_nulls()
    return float(values[0]) if len(values) else 0.0
