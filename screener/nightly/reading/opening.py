"""Opening: recognise the bars at a path, and make them cheap to read in batches."""

from __future__ import annotations

import shlex
import zipfile
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, Final

import polars as pl

from screener.nightly.errors import RefusedInput, SourceError
from screener.nightly.reading.collection import sort_files
from screener.nightly.reading.files import CSV, open_regular, suffix_of
from screener.nightly.reading.folder import BarsFolder
from screener.nightly.reading.formats import readable, scan_bars
from screener.nightly.reading.pieces import MAX_BYTES
from screener.nightly.reading.sorting import RUN_ROWS, ExternalSort, SortedSource
from screener.nightly.reading.source import (
    SORTING,
    BarSource,
    ReadReport,
    Step,
    silent,
)
from screener.nightly.reading.table import TableSource, scan_symbols
from screener.nightly.symbols import SHAPE, normalise, resolve
from screener.nightly.tables.columns import BARS
from screener.nightly.tables.layout import BarsTable

SMALL: Final = 8 << 20
"""A table up to this size is scanned without sorting."""
STOOQ: Final = b"<TICKER>"
MAX_EXAMPLES: Final = 3
"""Files that an error names; more are counted."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A source, and what the night's report says about how it was read."""

    source: BarSource
    told: Mapping[str, Any] = field(default_factory=dict)
    skipped: Mapping[str, RefusedInput] = field(default_factory=dict)
    """By file: why it was left out, where that refuses no symbol of its own."""
    rows: Mapping[str, int] = field(default_factory=dict)
    """By form of the files: how many rows were read, whatever became of them."""

    def check_usable(self, path: Path) -> None:
        """Check that one symbol at least can be read.

        Raises:
            SourceError: none can; it says why, and what could be.
        """
        outlines = self.source.outlines()
        if not any(normalise(name) for name in outlines):
            command = f"screener bars check {shlex.quote(str(path))}"
            said = _nothing(self, outlines.keys())
            raise SourceError(f"{path} {said} `{command}` names them all.")


def open_source(
    path: Path,
    work: Path,
    step: Step = silent,
    symbol: str | None = None,
    *,
    always: bool = False,
    unusable: bool = False,
) -> Opened:
    """Open the bars at a path, and sort them into the folder `work` unless batches are cheap to
    read, or `always`, which is for readers that do not see the path.

    `symbol` names the one series that has no symbol of its own. Bars of which nothing can be used
    are opened only if they may be `unusable`.

    Raises:
        SourceError: no bars can be read, `symbol` does not fit, or `work` cannot be written.
    """
    recognised = _recognised(path, symbol)
    report, folder = ReadReport(), work / "bars"
    source: BarSource
    if isinstance(recognised, BarsFolder):
        source = sort_files(recognised, ExternalSort(folder), step, report)
    else:
        source = _open_table(recognised, folder, step, report, always=always)
    opened = Opened(source, report.as_dict(), report.skipped, report.rows)
    if not unusable:
        opened.check_usable(path)
    return opened


def open_symbol(
    path: Path, work: Path, wanted: str, symbol: str | None = None
) -> SortedSource | None:
    """The bars of one symbol, whose own files in a folder, or rows in a table, are read alone.

    Returns None where names do not tell where they are, or they cannot be read.

    Raises:
        SourceError: there are no bars at the path, `symbol` does not fit, or `work` cannot be
            written.
    """
    recognised = _recognised(path, symbol)
    name = resolve(recognised.names()).raw_of.get(normalise(wanted) or "")
    if name is None:
        return None
    report, sort = ReadReport(), ExternalSort(work / "symbol")
    if isinstance(recognised, BarsFolder):
        source = sort_files(replace(recognised, only=name), sort, silent, report)
    else:
        with readable(path):
            table = scan_symbols(path)
            rows = table.rows.filter(pl.col("symbol") == name)
            source = _sorted(replace(table, rows=rows), recognised, sort, report, silent)
    alone = source.names() == [name] and source.outlines()
    return source if alone else None


def _recognised(path: Path, symbol: str | None) -> BarsFolder | TableSource:
    if symbol is not None and normalise(symbol) is None:
        raise SourceError(f"--symbol {symbol!r} cannot be a symbol, which consists of {SHAPE}.")
    if not _exists(path):
        raise SourceError(f'"{path}" does not exist; name a folder of bars or one file.')
    if path.is_dir() or _holds_files(path):
        return BarsFolder(path, symbol)
    if symbol is not None:
        raise SourceError(f"{path} has a column symbol, so --symbol cannot name it; leave it out.")
    return TableSource(path)


def _open_table(
    source: TableSource, folder: Path, step: Step, report: ReadReport, *, always: bool
) -> BarSource:
    """A table whose symbols are cheap to read in batches: itself, or sorted into a folder."""
    path = source.path
    with readable(path):
        table = scan_symbols(path)
        report.add(table, rows=0)
        large = path.stat().st_size > SMALL
        csv = (suffix_of(path) or "").lower() in CSV
        if not always and not (large and csv):
            survey = source.survey
            # Rows of one symbol that lie apart would make every batch read most of the row groups.
            if not large or survey.together:
                report.rows[table.form] += survey.rows
                report.leave_nameless(path.name, survey.nameless)
                return source
        return _sorted(table, source, ExternalSort(folder), report, step)


def _sorted(
    table: BarsTable, source: TableSource, sort: ExternalSort, report: ReadReport, step: Step
) -> SortedSource:
    for done, batch in enumerate(table.rows.collect_batches(chunk_size=RUN_ROWS // 4)):
        step(SORTING, done, 0)
        report.rows[table.form] += len(batch)
        sort.add(batch, table.adjustment, table.currency)
    report.leave_nameless(table.label, sort.nameless)
    return sort.finish(source.digest())


def _exists(path: Path) -> bool:
    try:
        return path.exists() or path.is_symlink()
    except OSError:
        return False  # the name is too long


def _holds_files(path: Path) -> bool:
    """Whether a file is read as one of a folder: a zip, or any that is no table of many symbols."""
    with readable(path), open_regular(path, str(path)) as stream:
        if stream.read(len(STOOQ)).upper() == STOOQ or zipfile.is_zipfile(stream):
            return True
    try:
        with readable(path):
            return not scan_bars(path).has_symbol
    except SourceError:
        if path.stat().st_size > MAX_BYTES:
            raise
    return True


_NAME_IT: Final = "name its files or its column symbol like that, or one series with --symbol."


def _nothing(opened: Opened, dated: Collection[str]) -> str:
    """Why nothing can be used, to be read after the path: the first reasons, and what is taken.

    `dated` are the names that have bars.
    """
    reasons = list(_reasons(opened, dated))
    if dated or not reasons:
        told = [f"has no symbol ({SHAPE}); {_NAME_IT}"]
    else:
        told = ["has no symbol that can be read."]
    told += list(islice(reasons, MAX_EXAMPLES))
    if len(reasons) > MAX_EXAMPLES:
        told.append(f"And {len(reasons) - MAX_EXAMPLES:,} more.")
    return " ".join([*told, f"Expected: daily bars with the columns {', '.join(BARS)}."])


def _reasons(opened: Opened, dated: Collection[str]) -> Iterator[str]:
    """Why each other name and each file cannot be read."""
    names = [name for name in opened.source.names() if name not in dated]
    for loaded in opened.source.load(names):
        if loaded.refusal is not None:
            yield loaded.refusal.of(loaded.name)
    for label, refusal in opened.skipped.items():
        yield refusal.of(label)
