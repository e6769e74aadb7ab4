"""The collection: files of one symbol and tables of many, sorted together.

A symbol is read either from its own files or from tables, whichever comes first by name, and never
from both: they may be adjusted differently. What is left out is named.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Final

import polars as pl

from screener.nightly.errors import RefusedInput
from screener.nightly.reading.folder import BarsFolder, SymbolFiles, stooq_refusal
from screener.nightly.reading.sorting import ExternalSort, SortedSource
from screener.nightly.reading.source import SORTING, UNUSED, ReadReport, Step
from screener.nightly.tables.layout import BarsTable
from screener.nightly.tables.raw import STOOQ
from store.wire.words import named

MAX_EXAMPLES: Final = 3
"""Symbols that a reason names; more are counted."""


def sort_files(
    folder: BarsFolder, sort: ExternalSort, step: Step, report: ReadReport
) -> SortedSource:
    """Sort the files of a folder by symbol. What is left out is added to the report.

    Raises:
        SourceError: there is no file, the sorted bars cannot be written, or the folder's `symbol`
            is to name a file that gives its own.
    """
    names = folder.names()
    collection = _Collection(sort, report)
    done = 0
    for found in folder.gather(names):
        step(SORTING, done, len(names))
        if isinstance(found, BarsTable):
            collection.add_table(found)
        else:
            collection.add_symbol(found)
            done += 1
    step(SORTING, len(names), len(names))
    collection.settle()
    return sort.finish(folder.digest())


class _Collection:
    """Which symbols were taken from where so far."""

    def __init__(self, sort: ExternalSort, report: ReadReport) -> None:
        self._sort = sort
        self._report = report
        self._own: set[str] = set()
        self._tabled: set[str] = set()
        self._tables = 0
        self._failed: list[tuple[SymbolFiles, RefusedInput]] = []
        self._foreign: Counter[str] = Counter()

    def add_table(self, table: BarsTable) -> None:
        """Add the rows of a table, without those of symbols that have files of their own."""
        if table.refusal is not None:
            self._report.leave_file(table.label, table.refusal, len(table.frame))
            return
        self._tables += table.symbol is None
        self._report.add(table, len(table.frame))
        frame = self._at_home(table)
        names = set(frame["symbol"].drop_nulls().unique())
        nameless = int(frame["symbol"].is_null().sum()) + int((frame["symbol"] == "").sum())
        self._report.leave_nameless(table.label, nameless)
        if own := sorted(names & self._own):
            twice = pl.col("symbol").is_in(own)
            rows = int(frame.select(twice.sum()).item())
            frame = frame.filter(~twice.fill_null(value=False))
            some = named(own, MAX_EXAMPLES)
            reason = f"{some}: files of their own are read instead of these rows."
            self._report.leave(table.label, RefusedInput("duplicate_symbol", reason, rows))
        self._tabled |= names - self._own
        self._sort.add(frame, table.adjustment, table.currency)

    def add_symbol(self, files: SymbolFiles) -> None:
        """Add the rows of one symbol's files."""
        name = files.name
        told_itself = files.refusal.reason if files.refusal else None
        for label, refusal in files.skipped.items():
            self._report.rows[UNUSED] += refusal.rows
            if refusal.reason != told_itself:
                self._report.skipped[label] = refusal
        if files.refusal is not None and not files.tables:
            self._failed.append((files, files.refusal))
        elif files.tables and name in self._tabled:
            reason = f"{name} is read from tables of many symbols; remove its file or its rows."
            refusal = RefusedInput("duplicate_symbol", reason)
            self._report.leave_file(files.label, refusal, len(files.frame))
        elif files.tables:
            self._add(files)

    def settle(self) -> None:
        """Refuse what could not be read: the symbol of a file, or the file where it was a table."""
        tables = self._tables > len(self._own)
        for files, refusal in self._failed:
            if refusal.code == "unreadable_file" and tables:
                reason = f"{refusal.reason} Its days are missing for every symbol."
                self._report.skipped[files.label] = replace(refusal, reason=reason)
            elif files.name in self._tabled or files.name in files.skipped:
                self._report.skipped[files.label] = refusal
            else:
                self._sort.note(files.name, files.findings, refusal)

    def _add(self, files: SymbolFiles) -> None:
        self._own.add(files.name)
        refusal = files.refusal
        if refusal is not None:
            refusal = replace(refusal, rows=len(files.frame))
        self._sort.note(files.name, files.findings, refusal)
        for table in files.tables:
            self._report.add(table, len(table.frame))
        if refusal is None and len(files.frame):
            rows = files.frame.with_columns(pl.lit(files.name).alias("symbol"))
            self._sort.add(rows, files.adjustment, files.currency)

    def _at_home(self, table: BarsTable) -> pl.DataFrame:
        """The rows without a Stooq file's foreign listings, which are recorded as refused."""
        if table.form != STOOQ:
            return table.frame
        names = table.frame["symbol"].unique().drop_nulls()
        foreign = {name: stooq_refusal(name) for name in names}
        rows = dict(table.frame["symbol"].value_counts().iter_rows())
        for name, refusal in foreign.items():
            if refusal is not None:
                self._foreign[name] += rows[name]
                self._sort.note(name, {}, replace(refusal, rows=self._foreign[name]))
        abroad = [name for name, refusal in foreign.items() if refusal is not None]
        here = ~pl.col("symbol").is_in(abroad).fill_null(value=False)
        return table.frame.filter(here).with_columns(pl.col("symbol").str.strip_suffix(".US"))
