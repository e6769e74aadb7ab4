"""Tables of daily bars to measure a night at any size: a synthetic market, or copies of real bars.

Prices of the market follow geometric Brownian motion with a wandering volatility (its log is an
AR(1) process), Student t innovations of four degrees of freedom and a factor that all symbols
share. Listings begin on different days, some symbols are delisted, and volume follows the size of
the move. The log price is reflected at two bounds, so no series ends in cents that hardly move.
Symbols are seeded by their number, so a larger market contains the smaller one.
"""

from __future__ import annotations

import datetime as dt
import tempfile
import warnings
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from screener.nightly.reading.formats import scan_bars

Floats = npt.NDArray[np.float64]

LAST_SESSION = dt.date(2025, 6, 30)
CHUNK = 200
"""Symbols made at a time, about a million bars: one row group."""
ROW_GROUP = 500_000
TAILS = 4.0
"""Degrees of freedom of the innovations."""
LOWEST, HIGHEST = 4.0, 4000.0
"""The prices at which a series turns around."""
LISTED_LATER, DELISTED = 0.05, 0.03
"""Shares of the symbols."""
MAX_COPIES = len(ascii_uppercase)
STEP = 0.07
"""By how much the prices of a copy are above those of the copy before it, as a share."""
PRICES = ("open", "high", "low", "close")


def sessions(years: int) -> npt.NDArray[np.int32]:
    """Day numbers of the New York sessions of some years up to `LAST_SESSION`."""
    import exchange_calendars  # type: ignore[import-untyped]

    first = LAST_SESSION.replace(year=LAST_SESSION.year - years)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        # The library's calendar must begin before the first session that is asked for.
        start = first - dt.timedelta(days=10)
        calendar: Any = exchange_calendars.get_calendar("XNYS", start=str(start), end="2025-12-31")
    days = calendar.sessions_in_range(str(first), str(LAST_SESSION))
    return np.asarray(days.values.astype("datetime64[D]").astype(np.int32))


def symbol_of(number: int) -> str:
    """The symbol of a number: five letters, in the order of the numbers."""
    letters = ""
    for _ in range(5):
        number, letter = divmod(number, 26)
        letters = chr(ord("A") + letter) + letters
    return letters


def volatilities(days: int, random: np.random.Generator) -> Floats:
    """A symbol's daily volatility, wandering around its own level: 0.8% to 5%."""
    level = np.log(random.uniform(0.008, 0.05))
    shocks = random.normal(0.0, 0.10, days)
    kernel = 0.98 ** np.arange(400)
    return np.asarray(np.exp(level + np.convolve(shocks, kernel)[:days]).clip(0.003, 0.15))


def within(prices: Floats) -> Floats:
    """Prices whose logs are reflected at the bounds, so that every move keeps its size."""
    width = np.log(HIGHEST / LOWEST)
    beyond = np.mod(np.log(prices / LOWEST), 2 * width)
    return np.asarray(LOWEST * np.exp(np.minimum(beyond, 2 * width - beyond)))


def bars_of(number: int, days: npt.NDArray[np.int32], factor: Floats) -> pl.DataFrame:
    """The bars of one symbol."""
    random = np.random.default_rng([20, number])
    if random.random() < LISTED_LATER:
        days = days[random.integers(0, len(days) - 250) :]
    if random.random() < DELISTED:
        days = days[: random.integers(200, len(days))]
    count = len(days)
    volatility = volatilities(count, random)
    own = random.standard_t(TAILS, count) / np.sqrt(TAILS / (TAILS - 2))
    moves = volatility * (0.85 * own + 0.5 * factor[-count:]) + 0.0002
    close = within(random.uniform(5, 200) * np.exp(np.cumsum(moves - volatility**2 / 2)))
    before = np.concatenate([close[:1], close[:-1]])
    opened = before * np.exp(0.3 * volatility * random.normal(size=count))
    reach = 0.5 * volatility[:, None] * np.abs(random.normal(size=(count, 2)))
    high = np.maximum(opened, close) * np.exp(reach[:, 0])
    low = np.minimum(opened, close) * np.exp(-reach[:, 1])
    activity = np.exp(0.3 * random.normal(size=count) + 0.3 * np.abs(own))
    prices = {"open": opened, "high": high, "low": low, "close": close}
    return pl.DataFrame(
        {
            "symbol": pl.repeat(symbol_of(number), count, eager=True),
            "date": pl.Series(days).cast(pl.Date),
            **{name: values.round(4) for name, values in prices.items()},
            "volume": (random.uniform(1e4, 1e7) * activity).round(),
        }
    )


def write_market(file: Path, symbols: int, years: int = 20) -> int:
    """Write the market's table, sorted by symbol; return its number of bars."""
    days = sessions(years)
    factor = np.random.default_rng(20).normal(size=len(days))
    bars = 0
    with tempfile.TemporaryDirectory(dir=file.parent) as parts:
        for start in range(0, symbols, CHUNK):
            numbers = range(start, min(start + CHUNK, symbols))
            chunk = pl.concat([bars_of(number, days, factor) for number in numbers])
            chunk.write_parquet(Path(parts) / f"{start:06}.parquet")
            bars += len(chunk)
        pl.scan_parquet(Path(parts) / "*.parquet").sink_parquet(file, row_group_size=ROW_GROUP)
    return bars


def write_until(source: Path, file: Path, day: dt.date) -> None:
    """Write a table of bars as it was on an earlier day."""
    rows = pl.scan_parquet(source).filter(pl.col("date") <= day)
    rows.sink_parquet(file, row_group_size=ROW_GROUP)


def write_copies(source: Path, file: Path, copies: int) -> None:
    """Write copies of a table of bars under other names and at other price levels.

    No copy shares a digest or a checkpoint with another; patterns are the same, because they do not
    depend on the price level.
    """
    bars = scan_bars(source).rows
    with tempfile.TemporaryDirectory(dir=file.parent) as parts:
        for number in range(copies):
            _copied(bars, number).sink_parquet(Path(parts) / f"{number:02}.parquet")
        pl.scan_parquet(Path(parts) / "*.parquet").sink_parquet(file, row_group_size=ROW_GROUP)


def _copied(bars: pl.LazyFrame, number: int) -> pl.LazyFrame:
    level = (1 + STEP) ** (number + 1)
    return bars.select(
        (pl.lit(ascii_uppercase[number]) + pl.col("symbol")).alias("symbol"),
        pl.col("date").cast(pl.Date),
        *(pl.col(name) * level for name in PRICES),
        "volume",
    ).sort("symbol", "date")


def write_reference(source: Path, file: Path, copies: int) -> None:
    """Write the reference table of the same copies; its column of names is `symbol`."""
    listed = pl.scan_parquet(source) if source.suffix == ".parquet" else pl.scan_csv(source)
    named = [
        listed.with_columns(symbol=pl.lit(ascii_uppercase[number]) + pl.col("symbol"))
        for number in range(copies)
    ]
    pl.concat(named).sink_parquet(file)
