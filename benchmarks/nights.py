"""Nights of a table of bars, run by the command line and measured from outside.

A rate divides by the bars that the night analysed. A table of which the data rules refuse more than
a twentieth measures the rules and not the detector, so it ends the benchmark.
"""

from __future__ import annotations

import datetime as dt
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from benchmarks.market import write_until
from benchmarks.watching import Watched, watch
from nightly.plan import Order, plan
from nightly.reference import Reference, read_reference
from nightly.sources import open_source
from nightly.symbols import resolve
from store.ledger.manifest import Manifest, read_manifest
from store.nights.book import Book

SCREENER = str(Path(sys.executable).with_name("screener"))
ANALYSED = 0.95
"""The least share of the symbols, and of the bars, that a night must analyse."""
LATE: Final = frozenset({"behind", "stale"})
"""Refusals that say nothing against the bars."""


@dataclass(frozen=True, slots=True)
class Night:
    """A sealed night, its cost, and the bars that it analysed."""

    cost: Watched
    manifest: Manifest
    bars: int

    def told(self, name: str) -> str:
        """The night's figures in one line, and its steps in another."""
        cost = self.cost
        steps = next(line for line in cost.output.splitlines() if line.startswith("Of these"))
        return (
            f"{name}: {cost.seconds:.1f} s, {self.bars:,} bars analysed "
            f"({self.bars / cost.seconds:,.0f} a second), processors {cost.cpu_seconds:.1f} s, "
            f"memory of all processes {cost.memory / 2**20:,.0f} MiB\n    {steps}"
        )


def warm_up(folder: Path) -> float:
    """Seal the sample night, which compiles the detector once on a machine; returns the seconds."""
    return watch([SCREENER, "nightly"], folder / "data-sample").seconds


def seal(table: Path, data: Path, *options: str, reference: Path | None = None) -> Night:
    """Publish one night of a table and check that nearly all of it was analysed."""
    known = ["--reference", str(reference)] if reference else []
    cost = watch([SCREENER, "nightly", "--bars", str(table), *known, *options], data)
    if cost.code:
        sys.exit(cost.output)
    manifest = read_manifest(data / "manifest.json")
    book = Book.open(data / "nights" / manifest.book.file, manifest)
    night = Night(cost, manifest, int(book.report()["bars"]))
    check_analysed(table, book, night)
    book.close()
    return night


def check_analysed(table: Path, book: Book, night: Night) -> None:
    """End the benchmark if the night left out more than a twentieth of its symbols or bars."""
    days = pl.scan_parquet(table).filter(pl.col("date") <= night.manifest.as_of_session)
    names = days.select(pl.col("symbol").unique()).collect()["symbol"]
    refused = book.report()["refused"]
    doubted = {symbol for code in refused.keys() - LATE for symbol in refused[code]}
    analysed = len(resolve(names).raw_of.keys() - doubted)
    rows = days.select(pl.len()).collect().item()
    for kind, part, whole in (("symbols", analysed, len(names)), ("bars", night.bars, rows)):
        if part < ANALYSED * whole:
            sys.exit(f"{table}: only {part:,} of {whole:,} {kind} were analysed.")


@dataclass(frozen=True, slots=True)
class Pair:
    """A night from scratch, and the same night resumed from the checkpoints of the one before."""

    first: Night
    later: Night

    def report(self, name: str) -> str:
        """Both nights in words, and whether their bytes are the same."""
        same = "the same bytes" if self.first.manifest == self.later.manifest else "OTHER BYTES"
        return (
            f"{self.first.told(name)}\n{self.later.told('  one session later')}\n"
            f"    {same} as from scratch: {self.later.manifest.book.sha256[:12]}"
        )


def measure(table: Path, folder: Path, reference: Path | None = None) -> Pair:
    """The night of a table's last session after the one before, from scratch and resumed."""
    before = folder / "before" / table.name  # the same name, as a table that grows has
    before.parent.mkdir()
    write_until(table, before, last_session(table, reference) - dt.timedelta(days=1))
    seal(before, folder / "data-later", reference=reference)
    # Both are compared with the same night, which is an input of theirs.
    shutil.copytree(folder / "data-later" / "ledger", folder / "data-first" / "ledger")
    first = seal(table, folder / "data-first", reference=reference)
    return Pair(first, seal(table, folder / "data-later", reference=reference))


def last_session(table: Path, reference: Path | None) -> dt.date:
    """The session that a night of a table is as of."""
    known = read_reference(reference) if reference else Reference()
    order = Order(open_source(table), table.name, reference=known)
    return plan(order, dt.datetime.now(dt.UTC)).as_of


def compared(one: Pair, many: Pair) -> str:
    """How much longer the second pair took, beside how many more bars it had."""
    nights = (("first night", one.first, many.first), ("later", one.later, many.later))
    ratios = ", ".join(
        f"{name} {b.cost.seconds / a.cost.seconds:.2f} times the wall clock and "
        f"{b.cost.cpu_seconds / a.cost.cpu_seconds:.2f} times the processors"
        for name, a, b in nights
    )
    return f"{many.first.bars / one.first.bars:.2f} times the bars: {ratios}"
