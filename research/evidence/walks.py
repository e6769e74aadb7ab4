"""Walks: a market without any pattern, drift or memory, to see what the filters say of it.

    python -m research.evidence.walks FILE [SYMBOLS [YEARS [SEED]]]

Each day of a walk is a path of small Gaussian steps, after a small gap, so that its high and low
are those of the path. The expected price of tomorrow is that of today.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from benchmarks.market import ROW_GROUP, sessions, symbol_of
from screener.nightly.bars import Bars, Days

STEPS: Final = 8
"""Steps of a day."""
GAP: Final = 0.2
"""The deviation of a night, in days."""
QUIETEST, WILDEST = 0.01, 0.03
"""The daily volatility."""
START: Final = 1000.0
SEED: Final = 1122


def driftless(dates: Days, rng: np.random.Generator) -> Bars:
    """The bars of one walk."""
    daily = rng.uniform(QUIETEST, WILDEST)
    deviation = np.full(STEPS + 1, daily / np.sqrt(STEPS))
    deviation[0] = GAP * daily
    steps = rng.normal(0.0, deviation, (len(dates), STEPS + 1)) - deviation**2 / 2
    path = START * np.exp(np.cumsum(steps).reshape(steps.shape))
    volume = np.round(rng.lognormal(11, 0.5, len(dates)))
    return Bars(dates, path[:, 0], path.max(axis=1), path.min(axis=1), path[:, -1], volume)


def table_of(symbol: str, bars: Bars) -> pl.DataFrame:
    """The rows of one symbol."""
    names = ("date", "open", "high", "low", "close", "volume")
    columns = dict(zip(names, bars.columns(), strict=True))
    days = pl.Series(columns.pop("date")).cast(pl.Date)
    return pl.DataFrame({"symbol": [symbol] * len(bars), "date": days, **columns})


def main() -> None:
    """Write walks to a file."""
    file, *sizes = sys.argv[1:]
    symbols = int(sizes[0]) if sizes else 1000
    days = sessions(int(sizes[1]) if sizes[1:] else 20)
    seed = int(sizes[2]) if sizes[2:] else SEED
    tables = [
        table_of(symbol_of(number), driftless(days, np.random.default_rng([seed, number])))
        for number in range(symbols)
    ]
    pl.concat(tables).write_parquet(Path(file), row_group_size=ROW_GROUP)
    print(f"{symbols * len(days):,} bars of {symbols:,} walks in {file}")


if __name__ == "__main__":
    main()
