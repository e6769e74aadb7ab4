"""Whole nights over real bars, or over a generated market, compared with a plain read of them.

    python -m benchmarks.nightly [--bars FILE] [--reference FILE] [--copies N] [--symbols N]

Runs the command line over one copy of the bars and over `--copies` copies under other names and at
other price levels: from scratch, and one session later. Prints wall clock, processor time, the rate
over the bars that were analysed, the largest memory of all processes together, whether a later
night has the bytes of one from scratch, and the ratios. Without `--bars` it generates `--symbols`
symbols of 20 years. If other work shares the cores, the processor time says more than the wall
clock.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import polars as pl

from benchmarks.copies import MOST, write_copies, write_reference
from benchmarks.market import write_market
from benchmarks.nights import Pair, compared, measure, warm_up


def arguments() -> argparse.Namespace:
    """What to measure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.nightly")
    parser.add_argument("--bars", type=Path)
    parser.add_argument("--reference", type=Path)
    parser.add_argument("--copies", type=int, default=1, choices=range(1, MOST + 1), metavar="N")
    parser.add_argument("--symbols", type=int, default=1000)
    return parser.parse_args()


def measure_copies(bars: Path, reference: Path | None, copies: int) -> Pair:
    """Measure some copies of a table in a folder of their own, and print it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table, known = folder / "bars.parquet", None
        write_copies(bars, table, copies)
        if reference is not None:
            known = folder / "reference.parquet"
            write_reference(reference, known, copies)
        pair = measure(table, folder, known)
        start = time.perf_counter()
        pl.read_parquet(table)
        read = time.perf_counter() - start
    print(pair.report(f"{copies} copies" if copies > 1 else "one copy"))
    print(
        f"    reading them alone takes Polars {read:.1f} s; the first night takes "
        f"{pair.first.cost.seconds / read:.1f} times as long",
        flush=True,
    )
    return pair


def main() -> None:
    """Measure one copy, then several, and print the ratio."""
    chosen = arguments()
    with tempfile.TemporaryDirectory() as name:
        warm_up(Path(name))
        bars = chosen.bars
        if bars is None:
            bars = Path(name) / "market.parquet"
            write_market(bars, chosen.symbols)
        one = measure_copies(bars, chosen.reference, 1)
        if chosen.copies > 1:
            print(compared(one, measure_copies(bars, chosen.reference, chosen.copies)))


if __name__ == "__main__":
    main()
