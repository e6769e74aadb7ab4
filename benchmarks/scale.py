"""The nightly at market scale: time, memory and growth of a whole night, and of one more day.

    python -m benchmarks.scale FOLDER [--years YEARS] [SYMBOLS ...]

For each size (by default 1,000, 3,000 and 10,000 symbols, of 20 years) it makes a synthetic market
in the folder and runs a night over it by the command line: from an empty data folder, and once more
after a night of the bars without their last session, which must give the same bytes. Two references
are measured in the same run: Polars only reading the file, and the detector alone on one core. If
other work shares the cores, the processor time says more than the wall time. `benchmarks.nightly`
measures the same over real bars. Of several sizes it says how much memory each further symbol took.
"""

from __future__ import annotations

import argparse
import datetime as dt
import tempfile
import time
from pathlib import Path

import polars as pl

from benchmarks.market import write_market
from benchmarks.nights import Pair, compared, measure, warm_up
from nightly.detector import detect
from nightly.sources import open_source

SIZES = (1000, 3000, 10_000)
WALKED = 50
"""Symbols that the detector walks alone on one core."""


def read(market: Path) -> tuple[float, float]:
    """Wall and processor seconds to read a market with Polars."""
    clock, processors = time.perf_counter(), time.process_time()
    pl.read_parquet(market)
    return time.perf_counter() - clock, time.process_time() - processors


def walk(market: Path) -> float:
    """Processor seconds per bar of the detector alone, on one core."""
    source = open_source(market)
    loaded = [item.bars for item in source.load(source.names()[:WALKED])]
    detect(loaded[0])
    start = time.process_time()
    for bars in loaded:
        detect(bars)
    return (time.process_time() - start) / sum(map(len, loaded))


def at_size(folder: Path, symbols: int, years: int) -> Pair:
    """Measure both nights of a market, and print their cost."""
    market = folder / f"market-{symbols}-{years}.parquet"
    if not market.exists():
        write_market(market, symbols, years)
    clock, processors = read(market)
    each = walk(market)
    with tempfile.TemporaryDirectory(dir=folder) as data:
        pair = measure(market, Path(data))
    cost, bars = pair.first.cost, pair.first.bars
    print(pair.report(f"{symbols:,} symbols"))
    print(
        f"    reading them alone takes Polars {clock:.1f} s, the night {cost.seconds / clock:.0f} "
        f"times as long; in processor time {processors:.1f} s and "
        f"{cost.cpu_seconds / processors:.0f} times; the detector alone walks {1 / each:,.0f} "
        f"bars/s on one core, the night takes {cost.cpu_seconds / (bars * each):.2f} times that",
        flush=True,
    )
    return pair


def growth(few: Pair, many: Pair) -> str:
    """What each further symbol took of the memory of all processes, in both nights."""
    symbols = many.first.manifest.counts.known - few.first.manifest.counts.known
    nights = (("first night", few.first, many.first), ("later", few.later, many.later))
    each = (
        f"{name} {(b.cost.memory - a.cost.memory) / symbols / 1024:.1f} KiB"
        for name, a, b in nights
    )
    return f"memory of each of {symbols:,} further symbols: {', '.join(each)}"


def main() -> None:
    """Measure every size, then the repeat of the largest."""
    asked = argparse.ArgumentParser(prog="python -m benchmarks.scale")
    asked.add_argument("folder", type=Path)
    asked.add_argument("sizes", type=int, nargs="*", metavar="SYMBOLS")
    asked.add_argument("--years", type=int, default=20)
    given = asked.parse_args()
    place: Path = given.folder
    place.mkdir(parents=True, exist_ok=True)
    print(f"{dt.date.today()}, first start {warm_up(place):.1f} s", flush=True)  # noqa: DTZ011
    pairs = [at_size(place, size, given.years) for size in given.sizes or SIZES]
    for pair in pairs[1:]:
        print(compared(pairs[0], pair))
        print(growth(pairs[0], pair))


if __name__ == "__main__":
    main()
