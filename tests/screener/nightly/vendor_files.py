"""Files as vendors write them, of the table `vendor_files.toml`, with made-up prices."""

from __future__ import annotations

import csv
import datetime as dt
import io
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

ROWS = 30
FIRST = dt.date(2023, 12, 18)
FIELDS = ("Open", "High", "Low", "Close", "Volume")
NARROW = "\N{NARROW NO-BREAK SPACE}"
MARKS = {"us": ",.", "de": ".,", "fr": f"{NARROW},", "ch": "'.", "plain": " ,"}
"""The marks of groups and of decimals in some countries."""


class Number(float):
    """A number whose format may be a country's, `M` and a country for millions, or a factor."""

    def __format__(self, code: str) -> str:
        if code.startswith("x"):
            return f"{float(self) * float(code[1:]):g}"
        if code.startswith("M"):
            return Number(self / 1e6).__format__(code[1:]) + "M"
        if code not in MARKS:
            return format(float(self), code or "g")
        group, decimal = MARKS[code][0], MARKS[code][1]
        text = f"{float(self):,.2f}".translate({ord(","): group, ord("."): decimal})
        return text.replace(" ", "")


@dataclass(frozen=True)
class Bar:
    """A bar of which every price is written by `Number`."""

    day: dt.date
    open: Number
    high: Number
    low: Number
    close: Number
    volume: Number

    def fill(self, template: str) -> str:
        """A row of a file. `{epoch}` is midnight in UTC, in seconds."""
        epoch = (self.day - dt.date(1970, 1, 1)).days * 86_400
        return template.format(**{**self.__dict__, "epoch": epoch})


def made_up(rows: int = ROWS, step: int = 1, *, weekends: bool = False) -> list[Bar]:
    """Bars of a price that climbs over a thousand, over a new year."""
    found: list[Bar] = []
    day = FIRST
    while len(found) < rows:
        if weekends or day.weekday() < 5:
            close = 985.25 + 1.75 * len(found) + len(found) % 3
            volume = 1_200_000 + 50_000 * len(found)
            numbers = (close - 0.5, close + 2.25, close - 3.5, close, volume)
            found.append(Bar(day, *map(Number, numbers)))
        day += dt.timedelta(step)
    return found


STOCK, COIN = made_up(), made_up(weekends=True)
ISO = "{day},{open},{high},{low},{close},{volume:.0f}"
PRICES = "{open},{high},{low},{close}"
TITLED = "Date,Open,High,Low,Close,Volume"


@dataclass(frozen=True)
class Example:
    """A file, and what must be read of it, or the reason why it is refused.

    A file is `above`, `header`, `row` for each bar and `below`; or `content`, if that is given.
    """

    what: str
    name: str
    header: str = TITLED
    row: str = ISO
    form: str = "CSV"
    symbol: str = "AAPL"
    bars: Sequence[Bar] = tuple(STOCK)
    newest_first: bool = False
    above: str = ""
    below: str = ""
    encoding: str = "utf-8"
    content: bytes | None = None
    adjustment: str | None = None
    currency: str | None = None
    tickers: tuple[str, ...] = ()
    """The symbols in its own column, if it has one."""
    refused: str = ""
    code: str = "unreadable_file"
    """That of the refusal."""

    @property
    def data(self) -> bytes:
        """The bytes of the file."""
        if self.content is not None:
            return self.content
        bars = self.bars[::-1] if self.newest_first else self.bars
        lines = [self.header, *(bar.fill(self.row) for bar in bars), self.below]
        text = self.above + "\n".join(line for line in lines if line) + "\n"
        return text.encode(self.encoding)


def yfinance_csv(*, by_ticker: bool) -> bytes:
    """The table of two tickers, of which one costs twice the other, with two rows of names."""
    pairs = [(field, ticker) for field in FIELDS for ticker in ("AAPL", "MSFT")]
    names = [["Price", *(field for field, _ in pairs)], ["Ticker", *(name for _, name in pairs)]]
    out = io.StringIO()
    lines = csv.writer(out, lineterminator="\n")
    lines.writerows([*(names[::-1] if by_ticker else names), ["Date", *("" for _ in pairs)]])
    for bar in STOCK:
        numbers = (getattr(bar, field.lower()) * (1 + (name == "MSFT")) for field, name in pairs)
        lines.writerow([bar.day, *numbers])
    return out.getvalue().encode()


def parquet(columns: dict[str, tuple[str, float]], date: str) -> bytes:
    """A Parquet file as pandas writes it, with the field and the factor of each column."""
    values: dict[str, list[dt.datetime] | list[float]] = {
        name: [getattr(bar, field.lower()) * factor for bar in STOCK]
        for name, (field, factor) in columns.items()
    }
    values[date] = [dt.datetime.combine(bar.day, dt.time()) for bar in STOCK]
    out = io.BytesIO()
    pl.DataFrame(values).write_parquet(out)
    return out.getvalue()


PAIRS = {
    f"('{field}', '{name}')": (field, factor)
    for name, factor in (("AAPL", 1.0), ("MSFT", 2.0))
    for field in FIELDS
}

SHORT = [Bar(dt.date(2024, month, 3), *map(Number, (2, 3, 1, 2, 9))) for month in (4, 5, 6)]
BARS: dict[str, Sequence[Bar]] = {
    "days": COIN,
    "three days": SHORT,
    "weeks": made_up(step=7),
    "months": made_up(step=30, weekends=True),
    "quarters": made_up(step=91, weekends=True),
    "none": (),
}
"""Bars that a row of the table names in place of those of a stock."""
MADE = {
    "parquet": parquet({field: (field, 1.0) for field in FIELDS}, "__index_level_0__"),
    "yfinance": yfinance_csv(by_ticker=False),
    "yfinance by ticker": yfinance_csv(by_ticker=True),
    "yfinance parquet": parquet(PAIRS, "Date"),
    "workbook": b"PK\x03\x04" + bytes(22) + b"\x13\0\0\0[Content_Types].xml" + bytes(60),
}
"""Files that a program makes, by the name that a row of the table gives them."""


def example(row: dict[str, Any]) -> Example:
    """A row of the table."""
    made = row.pop("made", "")
    content = MADE[made] if made else row["content"].encode() if "content" in row else None
    bars = BARS[row["bars"]] if "bars" in row else STOCK
    tickers = tuple(row.get("tickers", ()))
    return Example(**row | {"content": content, "bars": tuple(bars), "tickers": tickers})


TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
READ, REFUSED = (tuple(map(example, TABLE[name])) for name in ("read", "refused"))
