"""Print what a night says of its trades, and run the six filters of docs/evidence.md.

python -m benchmarks.evidence --bars FILE [--reference FILE] [--detector default] [--filters]

`--filters` runs the filters on the symbols held out. On real bars they are run once, and the result
is published whatever it is. On walks without any pattern (`python -m benchmarks.evidence.walks`)
they show what the method itself does.
"""

from __future__ import annotations

import argparse
import datetime as dt
import tempfile
from contextlib import closing
from pathlib import Path

from benchmarks.evidence.comparison import RESAMPLES, SEED
from benchmarks.evidence.tables import filter_tables, tables
from benchmarks.evidence.trades import held_out_trades
from nightly.errors import NightlyError
from nightly.night import make_night
from nightly.parameters import DETECTORS
from nightly.plan import Order, plan
from nightly.pool import default_jobs
from nightly.reference import Reference, read_reference
from nightly.sources import open_source
from store.nights.book import Book
from store.nights.nights import Nights
from store.wire.method import Method


def method_of(order: Order, now: dt.datetime) -> Method:
    """The method record of the night of an order, which is made in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        manifest, _ = make_night(order, Nights(Path(folder)), now=now)
        path = Path(folder) / "nights" / manifest.book.file
        with closing(Book.open(path, manifest)) as book:
            method = book.method()
    assert method is not None
    return method


def print_filters(order: Order, now: dt.datetime) -> None:
    """Run the filters, and say when and with which seed."""
    trades = held_out_trades(plan(order, now))
    print(
        f"Filters, run on {now:%Y-%m-%d %H:%M} UTC, {len(trades.facts):,} trades of symbols held "
        f"out, {RESAMPLES:,} resamples, seed {SEED}:\n"
    )
    print(*filter_tables(trades), sep="\n")


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.evidence",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--bars", type=Path, required=True, help="one table of daily bars")
    parser.add_argument("--reference", type=Path, help="the facts about its symbols")
    parser.add_argument("--detector", choices=DETECTORS, default="default")
    parser.add_argument("--filters", action="store_true", help="run the filters, once and for all")
    given = parser.parse_args()
    try:
        order = Order(
            open_source(given.bars),
            given.bars.name,
            reference=read_reference(given.reference) if given.reference else Reference(),
            parameters=DETECTORS[given.detector],
            jobs=default_jobs(),
        )
        now = dt.datetime.now(dt.UTC)
        method = method_of(order, now)
        print(
            f"Detector {given.detector}, method {method.version}, night of "
            f"{method.as_of_session}, {method.symbols:,} symbols, {method.tested} lines tested:\n"
        )
        print(*tables(method), sep="\n")
        if given.filters:
            print_filters(order, now)
    except (NightlyError, OSError) as error:
        parser.exit(1, f"{error}\n")


if __name__ == "__main__":
    main()
