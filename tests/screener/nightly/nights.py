"""Nights of tests: orders over a few bars, books, and what a night makes of one symbol."""

from __future__ import annotations

import datetime as dt
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from screener.nightly.analysis import Task, analyse_symbol
from screener.nightly.bars import Bars
from screener.nightly.cleaning.cleaning import Cleaned, clean
from screener.nightly.cleaning.sessions import past_window
from screener.nightly.detector.parameters import Parameters
from screener.nightly.plan import Order
from screener.nightly.reading.opening import open_source
from screener.nightly.reading.source import BarSource, Loaded
from screener.nightly.reference.reference import AssetType, Listing
from screener.nightly.results.symbol_results import Analysis
from screener.nightly.sample import sample_reference, sample_source
from screener.nightly.version import code_version
from store.ledger.manifest import Manifest
from store.nights.book import Book
from store.nights.nights import Nights
from tests.screener.nightly.series import LENIENT, write_table


def order_of(bars: Path, **options: Any) -> Order:
    """The order of a night over a file or a folder of bars, by lenient rules."""
    chosen = {"parameters": LENIENT, "accept_fall": True, "jobs": 1, **options}
    return Order(source_of(bars), "bars", **chosen)


def source_of(bars: Path) -> BarSource:
    """The source of a file or a folder of bars, sorted beside it if it must be."""
    work = Path(tempfile.mkdtemp(prefix="work-", dir=bars.parent))
    return open_source(bars, work).source


def order_over(folder: Path, bars: Mapping[str, Bars], **options: Any) -> Order:
    """The same over one table, which is written into a folder."""
    return order_of(write_table(folder / "bars.parquet", bars), **options)


@cache
def cleaned_sample(session: dt.date) -> dict[str, Cleaned]:
    """The sample's bars, cleaned as a night of a session does it."""
    reference, source = sample_reference(), sample_source()
    found = {}
    for loaded in source.load(source.names()):
        listing = reference.listing(loaded.name)
        found[loaded.name] = clean(
            loaded.bars,
            asset_type=listing.asset_type,
            window=past_window(session, listing.calendar),
            adjustment=listing.adjustment,
            splits=listing.splits,
        )
    return found


@contextmanager
def book_of(nights: Nights, manifest: Manifest) -> Iterator[Book]:
    """The book of a night, open within the block."""
    with closing(Book.open(nights.folder / manifest.book.file, manifest)) as book:
        yield book


def analysed(
    bars: Bars,
    session: dt.date,
    kind: AssetType = "stock",
    parameters: Parameters = LENIENT,
    *,
    until: dt.date | None = None,
    **options: Any,
) -> Analysis:
    """What a night of a session finds in the bars of X, whose listing may have ended."""
    window = past_window(session, Listing("X", asset_type=kind).calendar)
    windows = {window.calendar: window}
    source: Any = None
    task = Task(source, [], window.last, windows, "split", parameters, code_version())
    listing = Listing("X", asset_type=kind, listed_until=until)
    return analyse_symbol(Loaded("X", bars), listing, replace(task, **options))
