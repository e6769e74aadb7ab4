"""Bars of a made year in files, and what a check says of them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from screener.nightly.bars import to_day
from screener.nightly.check import Check, check
from screener.nightly.markets.calendars import calendar_of
from screener.nightly.plan import Order
from screener.nightly.reading.opening import open_source
from store.wire.exchanges import exchange_named

NOW = dt.datetime(2024, 6, 15, tzinfo=dt.UTC)
LAST = dt.date(2024, 6, 14)
HEADER = "date,open,high,low,close,volume"


def sessions(name: str = "XNYS", number: int = 260) -> list[dt.date]:
    days = calendar_of(name, LAST).sessions
    mine = days[days <= to_day(LAST)][-number:]
    return [dt.date(1970, 1, 1) + dt.timedelta(int(day)) for day in mine]


def bars(
    days: list[dt.date], seed: int = 0, scale: float = 1.0
) -> Iterator[tuple[dt.date, list[float]]]:
    random = np.random.default_rng(seed)
    closes = 100 * np.exp(np.cumsum(random.normal(0, 0.015, len(days))))
    for day, close in zip(days, closes, strict=True):
        prices = [round(scale * close * by, 4) for by in (1.001, 1.01, 0.99, 1.0)]
        yield day, [*prices, int(random.integers(100_000, 999_999))]


def lines(
    days: list[dt.date], seed: int = 0, dated: Callable[[dt.date], str] = str, scale: float = 1.0
) -> list[str]:
    rows = bars(days, seed, scale)
    return [f"{dated(day)},{','.join(map(str, numbers))}" for day, numbers in rows]


def write(path: Path, rows: list[str], header: str = HEADER) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([header, *rows, ""]), encoding="utf-8")
    return path


def look(path: Path, exchange: str = "") -> Check:
    opened = open_source(
        path, path.parent / f"work{len(list(path.parent.iterdir()))}", unusable=True
    )
    order = Order(
        opened.source,
        "bars",
        skipped=opened.skipped,
        rows=opened.rows,
        exchange=exchange_named(exchange) if exchange else None,
    )
    return check(order, NOW)


def kept(checked: Check) -> dict[str, tuple[int, dt.date | None]]:
    return {one.symbol: (one.bars, one.last) for one in checked.symbols if not one.refusal}
