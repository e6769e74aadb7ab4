"""The same few bars, written in every supported file form."""

from __future__ import annotations

import datetime as dt
import gzip
import json
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

NUMBERS = ("open", "high", "low", "close", "volume")
Series = Mapping[str, pl.DataFrame]
"""By served symbol: columns date, open, high, low, close, volume."""

MICROSECONDS_FROM = dt.date(2025, 1, 1)
EASTERN_MIDNIGHT = {True: 4, False: 5}
"""Hours of UTC at which a day of New York begins, in summer time and out of it."""


@dataclass(frozen=True)
class Shape:
    """A function that writes bars, and the name of the form in the night's report."""

    write: Callable[[Path, Series], Path]
    form: str
    crypto: bool = False


def _lines(frame: pl.DataFrame, row: Callable[[dt.date, tuple[float, ...]], str]) -> Iterable[str]:
    for day, *numbers in frame.select("date", *NUMBERS).iter_rows():
        yield row(day, tuple(numbers))


def _text(path: Path, lines: Iterable[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def yahoo(path: Path, series: Series) -> Path:
    header = "Date,Open,High,Low,Close,Adj Close,Volume"
    for symbol, frame in series.items():
        rows = _lines(
            frame, lambda d, n: f"{d},{n[0]!r},{n[1]!r},{n[2]!r},{n[3]!r},{n[3] / 2!r},{n[4]:.0f}"
        )
        name = symbol.replace(".", "-")
        _text(path / f"{name}.csv", [header, *rows])
    return path


def long_csv(path: Path, series: Series) -> Path:
    """One table sorted by day, too large to be read completely for every batch."""
    path.mkdir()
    file = path / "bars.csv"
    table = pl.concat(f.with_columns(pl.lit(s).alias("Ticker")) for s, f in series.items())
    table.sort("date").write_csv(file)
    return file


def long_parquet(path: Path, series: Series) -> Path:
    csv = long_csv(path, series)
    pl.read_csv(csv, try_parse_dates=True).write_parquet(csv.with_suffix(".parquet"))
    return csv.with_suffix(".parquet")


def stooq_lines(symbol: str, frame: pl.DataFrame) -> list[str]:
    header = "<TICKER>,<PER>,<DATE>,<TIME>,<OPEN>,<HIGH>,<LOW>,<CLOSE>,<VOL>,<OPENINT>"
    name = symbol.replace(".", "-") + ".US"
    rows = _lines(
        frame, lambda d, n: f"{name},D,{d:%Y%m%d},000000,{','.join(repr(x) for x in n)},0"
    )
    return [header, *rows]


def stooq_name(symbol: str) -> str:
    return symbol.lower().replace(".", "-") + ".us.txt"


def stooq(path: Path, series: Series) -> Path:
    for symbol, frame in series.items():
        _text(path / stooq_name(symbol), stooq_lines(symbol, frame))
    return path


def zipped(
    path: Path, members: Mapping[str, str | bytes], method: int = zipfile.ZIP_DEFLATED
) -> Path:
    """A zip of some members."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def stooq_zip(path: Path, series: Series) -> Path:
    members = {}
    for place, (symbol, frame) in enumerate(series.items(), 1):
        name = f"data/daily/us/nasdaq stocks/{place}/{stooq_name(symbol)}"
        members[name] = "\r\n".join(stooq_lines(symbol, frame))
    return zipped(path / "d_us_txt.zip", members)


def stooq_days(path: Path, series: Series) -> Path:
    """Stooq's daily files: all symbols of one day."""
    table = pl.concat(f.with_columns(pl.lit(s).alias("symbol")) for s, f in series.items())
    for (day,), rows in table.partition_by("date", as_dict=True).items():
        lines = [
            line
            for symbol, *_ in rows.select("symbol").iter_rows()
            for line in stooq_lines(symbol, rows.filter(pl.col("symbol") == symbol))[1:]
        ]
        header = stooq_lines("X", rows.head(0))
        _text(path / f"{day:%Y%m%d}_d.txt", [*header, *lines])
    return path


def kline_rows(frame: pl.DataFrame) -> list[str]:
    def row(day: dt.date, numbers: tuple[float, ...]) -> str:
        unit = 1_000_000 if day >= MICROSECONDS_FROM else 1_000
        opened = (day - dt.date(1970, 1, 1)).days * 86_400 * unit
        cells = [opened, *numbers, opened + 86_400 * unit - 1, 1.5, 7, 0.5, 0.25, 0]
        return ",".join(repr(cell) for cell in cells)

    return list(_lines(frame, row))


KLINE_HEADER = (
    "open_time,open,high,low,close,volume,close_time,quote_volume,count,"
    "taker_buy_volume,taker_buy_quote_volume,ignore"
)


def kline_zip(file: Path, lines: Iterable[str]) -> None:
    zipped(file, {file.with_suffix(".csv").name: "\n".join(lines) + "\n"})
    file.with_name(f"{file.name}.CHECKSUM").write_text("0" * 64)


def binance(path: Path, series: Series) -> Path:
    """One zip per month, and one per day of the newest month; only newer files have headers."""
    for symbol, frame in series.items():
        months = frame.with_columns(pl.col("date").dt.strftime("%Y-%m").alias("month"))
        newest = str(months["month"].max())
        folder = path / "data/spot/monthly/klines" / symbol / "1d"
        for (month,), rows in months.partition_by("month", as_dict=True).items():
            if month == newest:
                for (day,), one in rows.partition_by("date", as_dict=True).items():
                    kline_zip(folder / f"{symbol}-1d-{day}.zip", kline_rows(one))
            else:
                header = [KLINE_HEADER] if str(month) >= "2024-12" else []
                kline_zip(folder / f"{symbol}-1d-{month}.zip", [*header, *kline_rows(rows)])
    return path


def eastern(day: dt.date) -> int:
    """The nanosecond at which a day begins in New York, by the rule of 2007."""
    spring = dt.date(day.year, 3, 14 - (dt.date(day.year, 3, 1).weekday() + 1) % 7)
    autumn = dt.date(day.year, 11, 7 - (dt.date(day.year, 11, 1).weekday() + 1) % 7)
    hours = EASTERN_MIDNIGHT[spring < day <= autumn]
    return ((day - dt.date(1970, 1, 1)).days * 24 + hours) * 3_600 * 10**9


def massive(path: Path, series: Series) -> Path:
    table = pl.concat(f.with_columns(pl.lit(s).alias("symbol")) for s, f in series.items())
    for (day,), rows in table.partition_by("date", as_dict=True).items():
        assert isinstance(day, dt.date)
        lines = ["ticker,volume,open,close,high,low,window_start,transactions"]
        for row in rows.iter_rows(named=True):
            cells = [row[name] for name in ("volume", "open", "close", "high", "low")]
            lines.append(
                f"{row['symbol']},{','.join(repr(cell) for cell in cells)},{eastern(day)},12"
            )
        file = path / f"{day:%Y}" / f"{day:%m}" / f"{day}.csv.gz"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(gzip.compress("\n".join(lines).encode()))
    return path


def freqtrade(path: Path, series: Series) -> Path:
    path.mkdir()
    for symbol, frame in series.items():
        pair = symbol.removesuffix("USDT") + "_USDT"
        dated = frame.with_columns(pl.col("date").cast(pl.Datetime("ms", "UTC")))
        dated.write_ipc(path / f"{pair}-1d.feather", compression="lz4")
    return path


def freqtrade_json(path: Path, series: Series) -> Path:
    path.mkdir()
    for symbol, frame in series.items():
        pair = symbol.removesuffix("USDT") + "_USDT"
        day = pl.col("date").cast(pl.Datetime("ms")).dt.epoch("ms")
        rows = [list(row) for row in frame.with_columns(day).iter_rows()]
        (path / f"{pair}-1d.json").write_text(json.dumps(rows))
    return path


SHAPES = {
    "yahoo": Shape(yahoo, "CSV"),
    "long csv": Shape(long_csv, "CSV table"),
    "long parquet": Shape(long_parquet, "table"),
    "stooq": Shape(stooq, "Stooq"),
    "stooq zip": Shape(stooq_zip, "Stooq"),
    "stooq days": Shape(stooq_days, "Stooq"),
    "massive": Shape(massive, "Massive day file"),
    "binance": Shape(binance, "Binance klines", crypto=True),
    "freqtrade": Shape(freqtrade, "Arrow (feather)", crypto=True),
    "freqtrade json": Shape(freqtrade_json, "JSON candles", crypto=True),
}
