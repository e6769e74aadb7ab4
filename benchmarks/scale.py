"""The nightly at market scale: time, memory and growth of a whole night, and of one more day.

    python -m benchmarks.scale FOLDER [SYMBOLS ...]

For each size (by default 1,000, 3,000 and 10,000 symbols of 20 years) it makes a synthetic market
in the folder and runs a night over it by the command line, from an empty data folder. For the
largest market it also publishes the night before, measures the next night with one new session, and
checks it by a full walk, whose book must have the same bytes. Two references are measured in the
same run: Polars only reading the file, and the detector alone on one core. If other work shares the
cores, the processor time says more than the wall time.
"""

from __future__ import annotations

import datetime as dt
import shutil
import sys
import time
from pathlib import Path

import polars as pl

from benchmarks.market import LAST_SESSION, write_market
from benchmarks.watching import Watched, watch
from nightly.detector import detect
from nightly.sessions import session_at
from nightly.sources import open_source
from store.manifest import read_manifest

SIZES = (1000, 3000, 10_000)
SCREENER = str(Path(sys.executable).with_name("screener"))
WALKED = 50
"""Symbols that the detector walks alone on one core."""


def seal(market: Path, data: Path, *options: str) -> Watched:
    """Publish one night of a market."""
    made = watch([SCREENER, "nightly", "--bars", str(market), *options], data)
    if made.code:
        sys.exit(made.output)
    return made


def told(name: str, made: Watched, bars: int) -> str:
    """A night's figures in one line, and its steps in another."""
    steps = next(line for line in made.output.splitlines() if line.startswith("Of these"))
    return (
        f"{name}: {made.seconds:.1f} s ({bars / made.seconds:,.0f} bars/s), processors "
        f"{made.cpu_seconds:.1f} s ({bars / made.cpu_seconds:,.0f} bars/s), "
        f"memory {made.memory / 2**20:,.0f} MiB\n    {steps}"
    )


def read(market: Path) -> tuple[float, float, int]:
    """Wall and processor seconds to read a market with Polars, and its number of bars."""
    clock, processors = time.perf_counter(), time.process_time()
    bars = len(pl.read_parquet(market))
    return time.perf_counter() - clock, time.process_time() - processors, bars


def walk(market: Path) -> float:
    """Processor seconds per bar of the detector alone, on one core."""
    source = open_source(market)
    loaded = [item.bars for item in source.load(source.names()[:WALKED])]
    detect(loaded[0])
    start = time.process_time()
    for bars in loaded:
        detect(bars)
    return (time.process_time() - start) / sum(map(len, loaded))


def measure(folder: Path, symbols: int) -> tuple[Path, float]:
    """Publish a night of a market, print its cost, and return the processor seconds per bar."""
    market = folder / f"market-{symbols}.parquet"
    if not market.exists():
        write_market(market, symbols)
    data = folder / f"data-{symbols}"
    shutil.rmtree(data, ignore_errors=True)
    clock, processors, bars = read(market)
    each = walk(market)
    made = seal(market, data)
    print(told(f"{symbols:,} symbols, {bars:,} bars", made, bars))
    print(
        f"    reading them alone takes Polars {clock:.1f} s, the night {made.seconds / clock:.0f} "
        f"times as long; in processor time {processors:.1f} s and "
        f"{made.cpu_seconds / processors:.0f} times; the detector alone walks {1 / each:,.0f} "
        f"bars/s on one core, the night takes {made.cpu_seconds / (bars * each):.2f} times that",
        flush=True,
    )
    return market, made.cpu_seconds / bars


def repeat(folder: Path, market: Path) -> None:
    """Measure a night with one more day, and check that a full walk gives the same night."""
    data = folder / "data-repeat"
    shutil.rmtree(data, ignore_errors=True)
    before = session_at(LAST_SESSION - dt.timedelta(days=1))
    bars = pl.scan_parquet(market).select(pl.len()).collect().item()
    seal(market, data, "--session", str(before))
    print(told(f"one more day, {before} to {LAST_SESSION}", seal(market, data), bars), flush=True)
    carried = read_manifest(data / "manifest.json")
    print(told("the same with --full", seal(market, data, "--full"), bars))
    anew = read_manifest(data / "manifest.json")
    same = "the same bytes" if anew == carried else "OTHER BYTES"
    print(f"    {same}: {carried.book.sha256[:12]} and {anew.book.sha256[:12]}")


def main() -> None:
    """Measure every size, then the repeat of the largest."""
    folder, *sizes = sys.argv[1:]
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    seal_sample = watch([SCREENER, "nightly"], place / "data-sample")  # compiles the detector
    print(f"{dt.date.today()}, first start {seal_sample.seconds:.1f} s", flush=True)  # noqa: DTZ011
    first: float | None = None
    for symbols in [int(size) for size in sizes] or SIZES:
        market, each = measure(place, symbols)
        first = first or each
        print(f"    a bar takes {each / first:.2f} times as long as in the smallest market")
    repeat(place, market)


if __name__ == "__main__":
    main()
