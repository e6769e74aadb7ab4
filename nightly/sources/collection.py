"""The collection: files of one symbol and tables of many, sorted together into a spill.

A symbol is read either from its own files or from tables, whichever comes first by name, and never
from both: they may be adjusted differently. What is left out is named.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

import polars as pl

from nightly.errors import Refusal, SourceError
from nightly.sources.folder import FolderSource, Gathered, Many, stooq_refusal
from nightly.sources.forms import Read
from nightly.sources.source import BarSource
from nightly.sources.spill import Spill
from nightly.sources.telling import SORTING, Step, Told
from nightly.sources.vendors import STOOQ

SOME: Final = 3
"""Symbols that a reason names; more are counted."""


def sort_files(source: FolderSource, folder: Path, step: Step, told: Told) -> BarSource:
    """Sort the files of a source into a folder. What is left out is added to `told`.

    Raises:
        SourceError: there is no file, `folder` cannot be written, or the source's `symbol` is to
            name a file that gives its own.
    """
    names = source.names()
    sorting = _Sorting(Spill(folder), told)
    done = 0
    for item in source.gather(names):
        step(SORTING, done, len(names))
        _check_unnamed(source, item)
        if isinstance(item, Many):
            sorting.take_table(item)
        else:
            sorting.take_symbol(item)
            done += 1
    step(SORTING, len(names), len(names))
    sorting.settle()
    return sorting.spill.finish(source.digest())


def _check_unnamed(source: FolderSource, item: Gathered | Many) -> None:
    reads = [item.read] if isinstance(item, Many) else item.reads
    if source.symbol is not None and any("symbol" in read.frame.columns for read in reads):
        raise SourceError(
            f"{source.path} has a column symbol, so --symbol cannot name its bars; leave --symbol "
            "out."
        )


class _Sorting:
    """Which symbols were taken from where so far."""

    def __init__(self, spill: Spill, told: Told) -> None:
        self.spill = spill
        self._told = told
        self._own: set[str] = set()
        self._tabled: set[str] = set()
        self._tables = 0
        self._failed: list[Gathered] = []

    def take_table(self, many: Many) -> None:
        """Add the rows of a table, without those of symbols that have files of their own."""
        if many.read.refusal is not None:
            self._told.left[many.label] = many.read.refusal
            return
        self._tables += many.read.symbol is None
        self._told.add(many.read)
        frame = self._at_home(many.read)
        names = set(frame["symbol"].drop_nulls().unique())
        if nameless := int(frame["symbol"].is_null().sum()) + int((frame["symbol"] == "").sum()):
            reason = f"{nameless:,} of its rows name no symbol; they are left out."
            self._told.left[many.label] = Refusal("bad_symbol", reason)
        if own := sorted(names & self._own):
            frame = frame.filter(~pl.col("symbol").is_in(own))
            reason = f"{_some(own)}: files of their own are read instead of these rows."
            self._told.left[many.label] = Refusal("duplicate_symbol", reason)
        self._tabled |= names - self._own
        self.spill.add(frame, many.read.adjustment, many.read.currency)

    def take_symbol(self, gathered: Gathered) -> None:
        """Add the rows of one symbol's files."""
        name = gathered.name
        told_itself = gathered.refusal.reason if gathered.refusal else None
        for label, refusal in gathered.left.items():
            if refusal.reason != told_itself:
                self._told.left[label] = refusal
        if gathered.refusal is not None and not gathered.reads:
            self._failed.append(gathered)
        elif gathered.reads and name in self._tabled:
            reason = f"{name} is read from tables of many symbols; remove its file or its rows."
            self._told.left[gathered.label] = Refusal("duplicate_symbol", reason)
        elif gathered.reads:
            self._add(gathered)

    def settle(self) -> None:
        """Refuse what could not be read: the symbol of a file, or the file where it was a table."""
        tables = self._tables > len(self._own)
        for gathered in self._failed:
            refusal, name = gathered.refusal, gathered.name
            if refusal is None:
                continue
            if refusal.code == "unreadable_file" and tables:
                reason = f"{refusal.reason} Its days are missing for every symbol."
                self._told.left[gathered.label] = replace(refusal, reason=reason)
            elif name in self._tabled or name in gathered.left:
                self._told.left[gathered.label] = refusal
            else:
                self.spill.note(name, gathered.findings, refusal)

    def _add(self, gathered: Gathered) -> None:
        self._own.add(gathered.name)
        self.spill.note(gathered.name, gathered.findings, gathered.refusal)
        for read in gathered.reads:
            self._told.add(read)
        if gathered.refusal is None and len(gathered.frame):
            named = gathered.frame.with_columns(pl.lit(gathered.name).alias("symbol"))
            self.spill.add(named, gathered.adjustment, gathered.currency)

    def _at_home(self, read: Read) -> pl.DataFrame:
        """The rows without a Stooq file's foreign listings, which are recorded as refused."""
        if read.form != STOOQ:
            return read.frame
        foreign = {name: stooq_refusal(name) for name in read.frame["symbol"].unique().drop_nulls()}
        for name, refusal in foreign.items():
            if refusal is not None:
                self.spill.note(name, {}, refusal)
        kept = [name for name, refusal in foreign.items() if refusal is None]
        return read.frame.filter(pl.col("symbol").is_in(kept)).with_columns(
            pl.col("symbol").str.strip_suffix(".US")
        )


def _some(names: list[str]) -> str:
    more = f" and {len(names) - SOME:,} more" if len(names) > SOME else ""
    return ", ".join(names[:SOME]) + more
