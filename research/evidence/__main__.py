"""Print what a night says of its trades, and run the six filters of research/README.md.

python -m research.evidence --bars FILE [--reference FILE] [--quality PERCENT] [--filters]

`--filters` runs the filters on the symbols held out. On real bars they are run once, and the result
is published whatever it is. On walks without any pattern (`python -m research.evidence.walks`)
they show what the method itself does.
"""

from __future__ import annotations

import argparse
import datetime as dt
import tempfile
from contextlib import closing
from pathlib import Path

from research.evidence.comparison import RESAMPLES, SEED
from research.evidence.quality import quality_table
from research.evidence.tables import filter_table, tables
from research.evidence.trades import held_out_trades
from screener.nightly.detector.parameters import DEFAULTS
from screener.nightly.errors import NightlyError
from screener.nightly.night import make_night
from screener.nightly.plan import Order, plan
from screener.nightly.pool import default_jobs
from screener.nightly.reading.table import TableSource
from screener.nightly.reference.reference import Reference, read_reference
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
    print(filter_table(trades))


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(
        prog="python -m research.evidence",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--bars", type=Path, required=True, help="one table of daily bars")
    parser.add_argument("--reference", type=Path, help="the facts about its symbols")
    parser.add_argument("--quality", type=float, help="another minimum score, for more trades")
    parser.add_argument("--filters", action="store_true", help="run the filters, once and for all")
    given = parser.parse_args()
    parameters = DEFAULTS
    if given.quality is not None:
        parameters = DEFAULTS._replace(quality_min=given.quality)
    try:
        order = Order(
            TableSource(given.bars),
            given.bars.name,
            reference=read_reference(given.reference) if given.reference else Reference(),
            parameters=parameters,
            jobs=default_jobs(),
        )
        now = dt.datetime.now(dt.UTC)
        method = method_of(order, now)
        print(
            f"Method {method.version}, night of {method.as_of_session}, "
            f"{method.symbols:,} symbols, {method.tested} lines tested:\n"
        )
        print(*tables(method), sep="\n")
        print(quality_table(plan(order, now)))
        if given.filters:
            print_filters(order, now)
    except (NightlyError, OSError) as error:
        parser.exit(1, f"{error}\n")


if __name__ == "__main__":
    main()
