"""Converting: whether one long table is cheap to read by symbol, and how it is sorted if not."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from nightly.errors import Refusal
from nightly.sources.files import CSV, suffix_of
from nightly.sources.source import BarSource
from nightly.sources.spill import RUN_ROWS, Spill
from nightly.sources.table import TableSource, readable, scan_symbols, survey
from nightly.sources.telling import MAX_TOLD, SORTING, Step, Told

SMALL: Final = 8 << 20
"""A table up to this size is scanned without sorting."""


def prepare_table(
    path: Path, folder: Path, step: Step, told: Told, *, always: bool = False
) -> BarSource:
    """A table whose symbols are cheap to read in batches: itself, or sorted into a folder, which it
    `always` is for readers that do not see it.

    Raises:
        SourceError: the table cannot be read, or `folder` cannot be written.
    """
    with readable(path):
        csv = (suffix_of(path) or "").lower() in CSV
        layout = scan_symbols(path)
        told.forms[layout.form] += 1
        told.columns.update(list(layout.columns.items())[:MAX_TOLD])
        large = path.stat().st_size > SMALL
        if always or (large and csv):
            return _sorted(path, folder, step, told)
        found = survey(path)
        # Rows of one symbol that lie apart would make every batch read most of the row groups.
        if large and found.runs > 2 * len(found.outlines):
            return _sorted(path, folder, step, told)
        _tell_nameless(path, found.nameless, told)
        return TableSource(path, found.outlines)


def _sorted(path: Path, folder: Path, step: Step, told: Told) -> BarSource:
    spill, layout = Spill(folder), scan_symbols(path)
    for done, batch in enumerate(layout.rows.collect_batches(chunk_size=RUN_ROWS // 4)):
        step(SORTING, done, 0)
        spill.add(batch, layout.adjustment, layout.currency)
    _tell_nameless(path, spill.nameless, told)
    return spill.finish(TableSource(path).digest())


def _tell_nameless(path: Path, rows: int, told: Told) -> None:
    if rows:
        reason = f"{rows:,} of its rows name no symbol; they are left out."
        told.left[path.name] = Refusal("bad_symbol", reason)
