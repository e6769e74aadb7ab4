"""Converting: sort bars by symbol into a spill, and record how their columns were used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import polars as pl

from nightly.bars import Adjustment
from nightly.errors import SourceError
from nightly.sources.files import CSV, scan_bars, suffix_of
from nightly.sources.folder import FolderSource, stooq_refusal
from nightly.sources.forms import Read, read_bars
from nightly.sources.pieces import Shelf, pieces_of
from nightly.sources.source import BarSource
from nightly.sources.spill import RUN_ROWS, Spill
from nightly.sources.table import TableSource

SORTING: Final = "sorting the bars by symbol"
SMALL: Final = 8 << 20
"""A table up to this size is scanned without sorting."""
MAX_TOLD: Final = 40
"""The most columns that the report lists."""

Step = Callable[[str, int, int], None]


def silent(_name: str, _done: int, _total: int) -> None:
    """Report no progress."""


@dataclass(slots=True)
class Told:
    """What the report says about a source: the number of files of each form, and the columns."""

    forms: Counter[str] = field(default_factory=Counter)
    columns: dict[str, str] = field(default_factory=dict)

    def add(self, read: Read) -> None:
        """Add one file."""
        self.forms[read.form] += 1
        for name, said in read.columns.items():
            if len(self.columns) < MAX_TOLD:
                self.columns.setdefault(name, said)

    def as_dict(self) -> dict[str, Any]:
        """The forms and columns as JSON values."""
        return {"forms": dict(sorted(self.forms.items())), "columns": self.columns}


def convert_folder(source: FolderSource, folder: Path, step: Step, told: Told) -> BarSource:
    """Sort files that hold one symbol each."""
    names = source.names()
    spill = Spill(folder)
    for done, gathered in enumerate(source.gather(names)):
        step(SORTING, done, len(names))
        spill.note(gathered.name, gathered.findings or {}, gathered.refusal)
        for read in gathered.reads:
            told.add(read)
        if gathered.refusal is None and len(gathered.frame):
            spill.add(gathered.frame.with_columns(pl.lit(gathered.name).alias("symbol")))
            spill.tell(gathered.name, gathered.adjustment, gathered.currency)
    step(SORTING, len(names), len(names))
    return spill.finish(source.digest())


def convert_tables(path: Path, folder: Path, step: Step, told: Told) -> BarSource:
    """Sort files that hold many symbols each, such as one file for every day.

    Raises:
        SourceError: a file cannot be read, so every symbol would have a hole there.
    """
    pieces = pieces_of(path)
    spill = Spill(folder)
    facts: set[tuple[Adjustment | None, str | None]] = set()
    with Shelf() as shelf:
        for done, piece in enumerate(pieces):
            step(SORTING, done, len(pieces))
            read = read_bars(shelf.read(piece), label=piece.label)
            if "symbol" not in read.frame.columns:
                raise SourceError(
                    f"{piece.label} has no column symbol, unlike other files of {path.name}; "
                    "keep tables of many symbols in a folder of their own."
                )
            if read.refusal is not None:
                raise SourceError(read.refusal.reason)
            told.add(read)
            facts.add((read.adjustment, read.currency))
            spill.add(_at_home(read, spill))
    step(SORTING, len(pieces), len(pieces))
    known = facts.pop() if len(facts) == 1 else (None, None)
    return spill.finish(FolderSource(path).digest(), *known)


def _at_home(read: Read, spill: Spill) -> pl.DataFrame:
    """The rows without a Stooq file's foreign listings, which are recorded as refused."""
    if read.form != "Stooq":
        return read.frame
    foreign = {name: stooq_refusal(name) for name in read.frame["symbol"].unique().drop_nulls()}
    for name, refusal in foreign.items():
        if refusal is not None:
            spill.note(name, {}, refusal)
    kept = [name for name, refusal in foreign.items() if refusal is None]
    return read.frame.filter(pl.col("symbol").is_in(kept)).with_columns(
        pl.col("symbol").str.strip_suffix(".US")
    )


def convert_table(source: TableSource, folder: Path, step: Step) -> BarSource:
    """Sort one long table."""
    spill = Spill(folder)
    try:
        layout = scan_bars(source.path)
        for done, batch in enumerate(layout.rows.collect_batches(chunk_size=RUN_ROWS // 4)):
            step(SORTING, done, 0)
            spill.add(batch)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise SourceError(
            f"{source.path} cannot be read ({type(error).__name__}); write it again."
        ) from error
    return spill.finish(source.digest(), layout.adjustment, layout.currency)


def is_sorted(path: Path) -> bool:
    """Whether the rows of each symbol are together, so that a batch reads only a few row groups."""
    changes = pl.col("symbol").ne_missing(pl.col("symbol").shift()).sum()
    runs, names = (
        scan_bars(path)
        .rows.select(changes.alias("runs"), pl.col("symbol").n_unique())
        .collect()
        .row(0)
    )
    return bool(runs <= 2 * names)


def wants_sorting(path: Path) -> bool:
    """Whether a table is large and would have to be scanned completely for every batch."""
    if path.stat().st_size <= SMALL:
        return False
    return (suffix_of(path) or "").lower() in CSV or not is_sorted(path)


def holds_many(path: Path) -> bool:
    """Whether the files of a folder or zip hold many symbols each, like the first readable one."""
    return any(
        "symbol" in read.frame.columns
        and (read.form == "Massive day file" or read.frame["symbol"].n_unique() > 1)
        for read in _first_read(path)
    )


def _first_read(path: Path, tries: int = 3) -> Iterator[Read]:
    with Shelf() as shelf:
        for piece in pieces_of(path)[:tries]:
            try:
                yield read_bars(shelf.read(piece), label=piece.label)
            except SourceError:
                continue
            return


def tell_table(path: Path) -> Mapping[str, Any]:
    """What the report says about one table."""
    layout = scan_bars(path)
    return {
        "forms": {layout.form: 1},
        "columns": dict(list(layout.columns.items())[:MAX_TOLD]),
    }
