"""Seeded price series for the tests, and the features of one by name."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from screener.nightly.bars import Bars, Floats, to_date, to_day
from screener.nightly.detector.parameters import Parameters
from screener.nightly.markets.calendars import calendar_of
from screener.nightly.results.features import COLUMNS, features
from store.wire.exchanges import NEW_YORK

# The default's rules with a low score, so that a random walk has enough patterns to look at.
LENIENT = Parameters(quality_min=10.0, directness_min=0.0)


def walk(length: int, seed: int = 7, last: dt.date = dt.date(2024, 3, 28)) -> Bars:
    """A random walk over New York sessions that ends on the last date."""
    rng = np.random.default_rng(seed)
    date = weekdays(length, last)
    close = 50 * np.exp(np.cumsum(rng.normal(0, 0.02, length)))
    open_ = close * np.exp(rng.normal(0, 0.01, length))
    high = np.maximum(open_, close) * np.exp(rng.exponential(0.01, length))
    low = np.minimum(open_, close) * np.exp(-rng.exponential(0.01, length))
    return Bars(date, open_, high, low, close, np.round(rng.lognormal(11, 1, length)))


def weekdays(length: int, last: dt.date = dt.date(2024, 3, 28)) -> npt.NDArray[np.int32]:
    """So many days up to a date on which New York opened, oldest first."""
    days = np.arange(to_day(last) - 2 * length - 7, to_day(last) + 1, dtype=np.int32)
    opened = days[np.is_busday(days.astype("datetime64[D]"))]
    found = np.setdiff1d(opened, calendar_of(NEW_YORK, last).closed_until(last.year))
    return found[len(found) - length :]


def daily(length: int, last: dt.date, **columns: Floats) -> Bars:
    """Bars on every calendar day up to the last date, flat at 100 unless a column is given."""
    date = np.arange(to_day(last) - length + 1, to_day(last) + 1, dtype=np.int32)
    flat = {name: np.full(length, 100.0) for name in ("open", "high", "low", "close", "volume")}
    return Bars(date, **(flat | columns))


def changed(bars: Bars, at: int | slice, **cells: float | Floats) -> Bars:
    """The bars with some cells replaced."""
    columns = {name: getattr(bars, name).copy() for name in cells}
    for name, value in cells.items():
        columns[name][at] = value
    return replace(bars, **columns)


def multiplied(bars: Bars, after: int, factor: float) -> Bars:
    """The bars with every price from a bar on multiplied."""
    part = slice(after, None)
    prices = {name: getattr(bars, name)[part] * factor for name in ("open", "high", "low", "close")}
    return changed(bars, part, **prices)


def evidence(bars: Bars, *, crypto: bool = False) -> dict[str, float]:
    return dict(zip(COLUMNS, features(bars, crypto=crypto).tolist(), strict=True))


def write_table(path: Path, series: Mapping[str, Bars]) -> Path:
    """One table of the bars of many symbols, which a night reads faster than a file for each."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pl.concat(
        pl.DataFrame({"symbol": symbol, "date": bars.date} | prices_of(bars))
        for symbol, bars in sorted(series.items())
    ).with_columns(pl.col("date").cast(pl.Date)).write_parquet(path)
    return path


def prices_of(bars: Bars) -> dict[str, Floats]:
    return {name: getattr(bars, name) for name in ("open", "high", "low", "close", "volume")}


def write_csv(path: Path, bars: Bars) -> None:
    path.parent.mkdir(exist_ok=True)
    lines = ["Date,Open,High,Low,Close,Volume"]
    for day, *values in zip(*bars.columns(), strict=True):
        date = dt.date(1970, 1, 1) + dt.timedelta(days=int(day))
        lines.append(",".join([date.isoformat(), *(repr(float(value)) for value in values)]))
    path.write_text("\n".join(lines))


def after_a_gap(bars: Bars, number: int, days: int) -> Bars:
    """The bars, with so many of the last ones after a gap of so many days."""
    before = weekdays(len(bars) - number, to_date(bars.date[-number]) - dt.timedelta(days=days))
    return replace(bars, date=np.concatenate([before, bars.date[-number:]]))
