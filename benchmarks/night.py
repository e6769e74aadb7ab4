"""Whole nights by the command line, measured from outside: from scratch, and one session later.

    python -m benchmarks.night FILE [--reference FILE] [--copies N] [--rounds N]
    python -m benchmarks.night --symbols N [N ...] [--years Y] [--rounds N]

FILE is a Parquet table of real bars, to which copies under other names and at other price levels
may be added; without it markets of some sizes are generated. Prints medians of the rounds, how long
Polars takes to only read the same table, and whether a later night has the bytes of one from
scratch. If other work shares the cores, processor time says more than the
wall clock. A rate divides by the bars that were analysed; a table of which the data rules refuse
more than a twentieth measures the rules and not the detector, so it ends the benchmark.
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

import polars as pl
import psutil

from benchmarks.market import MAX_COPIES, write_copies, write_market, write_reference, write_until
from screener.nightly.plan import Order, plan
from screener.nightly.reading.table import TableSource
from screener.nightly.reference.reference import Reference, read_reference
from screener.nightly.symbols import resolve
from store.ledger.manifest import Manifest, read_manifest
from store.nights.book import Book

SCREENER = str(Path(sys.executable).with_name("screener"))
EVERY = 0.05
"""Seconds between two samples of the memory."""
ANALYSED = 0.95
"""The least share of the symbols, and of the bars, that a night must analyse."""
LATE: Final = frozenset({"behind", "stale"})
"""Refusals that say nothing against the bars."""
HEAD = "| table | bars | night | wall, s | processors, s | memory, MiB | times a plain read |"


@dataclass(frozen=True, slots=True)
class Cost:
    """What a night took. Memory is the largest sum of the resident sets of all its processes, in
    bytes, so shared pages count once per process.
    """

    seconds: float
    processors: float
    memory: float

    @classmethod
    def middle(cls, costs: Sequence[Cost]) -> Cost:
        """The medians of some rounds."""
        return cls(
            median(one.seconds for one in costs),
            median(one.processors for one in costs),
            median(one.memory for one in costs),
        )


@dataclass(frozen=True, slots=True)
class Measurement:
    """Both nights of a table, medians of the rounds."""

    name: str
    bars: int
    read: float
    """Seconds in which Polars reads the table."""
    first: Cost
    later: Cost
    same: bool
    """Whether all nights have the same bytes."""

    def lines(self) -> Iterator[str]:
        """A row for each night."""
        for night, cost in (("first", self.first), ("later", self.later)):
            yield (
                f"| {self.name} | {self.bars:,} | {night} | {cost.seconds:.1f} | "
                f"{cost.processors:.1f} | {cost.memory / 2**20:,.0f} | "
                f"{cost.seconds / self.read:.1f} |"
            )


def watch(command: list[str], data: Path) -> Cost:
    """Run a command to its end, with its own data folder; end the benchmark if it fails."""
    environment = {**os.environ, "SCREENER_DATA_DIR": str(data)}
    before, start, memory = _processors(), time.perf_counter(), 0
    process = psutil.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    while process.poll() is None:
        memory = max(memory, _memory(process))
        time.sleep(EVERY)
    if process.returncode:
        sys.exit(process.stdout.read())
    return Cost(time.perf_counter() - start, _processors() - before, memory)


def _processors() -> float:
    """The processor seconds of all processes that this one started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _memory(process: psutil.Process) -> int:
    memory = 0
    try:
        for one in (process, *process.children(recursive=True)):
            memory += one.memory_info().rss
    except psutil.Error:
        pass  # one has ended meanwhile
    return memory


def seal(table: Path, reference: Path | None, data: Path) -> tuple[Cost, Manifest]:
    """Publish one night of a table."""
    known = ["--reference", str(reference)] if reference else []
    cost = watch([SCREENER, "nightly", "--bars", str(table), *known], data)
    return cost, read_manifest(data / "manifest.json")


def check_analysed(table: Path, session: dt.date, book: Book) -> None:
    """End the benchmark if the night left out more than a twentieth of its symbols or bars."""
    days = pl.scan_parquet(table).filter(pl.col("date") <= session)
    names = days.select(pl.col("symbol").unique()).collect()["symbol"]
    report = book.report()
    refused = report["refused"]
    doubted = {symbol for code in refused.keys() - LATE for symbol in refused[code]}
    analysed = len(resolve(names).raw_of.keys() - doubted)
    rows = days.select(pl.len()).collect().item()
    bars = report["bars"]
    for kind, part, whole in (("symbols", analysed, len(names)), ("bars", bars, rows)):
        if part < ANALYSED * whole:
            sys.exit(f"{table}: only {part:,} of {whole:,} {kind} were analysed.")


def last_session(table: Path, reference: Path | None) -> dt.date:
    """The session that a night of a table is as of."""
    known = read_reference(reference) if reference else Reference()
    order = Order(TableSource(table), table.name, reference=known)
    return plan(order, dt.datetime.now(dt.UTC)).as_of


def measure(name: str, table: Path, reference: Path | None, rounds: int) -> Measurement:
    """The night of a table's last session, from scratch and after the night before."""
    with tempfile.TemporaryDirectory(dir=table.parent) as made:
        folder = Path(made)
        before = folder / "before" / table.name  # the same name, as a table that grows has
        before.parent.mkdir()
        write_until(table, before, last_session(table, reference) - dt.timedelta(days=1))
        seal(before, reference, folder / "earlier")
        costs: tuple[list[Cost], list[Cost]] = [], []
        manifests = []
        for number in range(rounds):
            first, later = folder / f"first-{number}", folder / f"later-{number}"
            # Both are compared with the same night, which is an input of theirs.
            shutil.copytree(folder / "earlier" / "ledger", first / "ledger")
            shutil.copytree(folder / "earlier", later)
            for data, list_of in zip((first, later), costs, strict=True):
                cost, manifest = seal(table, reference, data)
                list_of.append(cost)
                manifests.append(manifest)
        book = Book.open(later / "nights" / manifest.book.file, manifest)
        check_analysed(table, manifest.as_of_session, book)
        bars = int(book.report()["bars"])
        book.close()
    first_cost, later_cost = (Cost.middle(each) for each in costs)
    same, read = all(one == manifest for one in manifests), plain_read(table, rounds)
    return Measurement(name, bars, read, first_cost, later_cost, same)


def plain_read(table: Path, rounds: int) -> float:
    """Seconds in which Polars reads a table."""
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        pl.read_parquet(table)
        seconds.append(time.perf_counter() - start)
    return median(seconds)


Tables = Iterator[tuple[str, Path, Path | None]]
"""Names of tables, the tables, and what is known of their symbols."""


def real_tables(folder: Path, bars: Path, reference: Path | None, copies: int) -> Tables:
    """A copy of real bars, then several, in a folder of this run."""
    for number in sorted({1, copies}):
        table, known = folder / f"bars-{number}.parquet", None
        write_copies(bars, table, number)
        if reference is not None:
            known = folder / f"reference-{number}.parquet"
            write_reference(reference, known, number)
        yield f"copies: {number}", table, known


def generated_tables(folder: Path, sizes: Sequence[int], years: int) -> Tables:
    """Markets of some sizes."""
    for size in sizes:
        table = folder / f"market-{size}.parquet"
        write_market(table, size, years)
        yield f"{size:,} symbols", table, None


def arguments() -> argparse.Namespace:
    """What to measure."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.night",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("bars", type=Path, nargs="?", metavar="FILE", help="a Parquet table of real bars")
    add("--reference", type=Path, help="the facts about its symbols")
    add("--copies", type=int, default=1, choices=range(1, MAX_COPIES + 1), metavar="N")
    add("--symbols", type=int, nargs="+", default=[1000], metavar="N", help="generated markets")
    add("--years", type=int, default=20, help="of the generated markets (%(default)s)")
    add("--rounds", type=int, default=3, help="nights of each kind (%(default)s)")
    return parser.parse_args()


def main() -> None:
    """Measure every table."""
    chosen = arguments()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        watch([SCREENER, "nightly"], folder / "sample")  # compiles the detector once on a machine
        if chosen.bars is None:
            tables = generated_tables(folder, chosen.symbols, chosen.years)
        else:
            tables = real_tables(folder, chosen.bars, chosen.reference, chosen.copies)
        print(HEAD, "|---|---:|---|---:|---:|---:|---:|", sep="\n")
        measured = []
        for each in tables:
            one = measure(*each, chosen.rounds)
            print(*one.lines(), sep="\n", flush=True)
            measured.append(one)
    print("All nights of a table have the same bytes:", all(one.same for one in measured))


if __name__ == "__main__":
    main()
