"""Files of a night's tables: a folder of Parquet or CSV files, or of one SQLite file. The folder is
there whole or not at all.
"""

from __future__ import annotations

import io
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Final

from screener.data.columns import TABLES, tables
from screener.data.frames import polars_frame
from screener.data.rows import names_of, table_rows
from store.errors import StoreError
from store.folder.files import DRAFT, sync_directory, sync_file
from store.folder.sqlite_file import Rows, write_tables
from store.nights.book import Book
from store.wire.csv_files import write_csv

SQLITE_FILE: Final = "night.sqlite"

SQL: Final = {"number": "REAL", "integer": "INTEGER", "boolean": "INTEGER"}
"""Types of columns in SQLite; the others are text, dates as YYYY-MM-DD."""


def write_night(book: Book, form: str, target: Path, *, replace: bool) -> None:
    """Write every table of a night into a new folder, in one of `FORMS`.

    Raises:
        StoreError: something is there that may not be replaced.
        OSError, sqlite3.Error: it cannot be written.
        ModuleNotFoundError: Parquet needs Polars, which is not installed.
    """
    with _whole_folder(target, replace=replace) as draft:
        FORMS[form](book, draft)


def _write_parquet(book: Book, folder: Path) -> None:
    for table in TABLES:
        body = io.BytesIO()  # of a full disk Polars would tell in words of its own
        polars_frame(book, table).write_parquet(body)
        (folder / f"{table}.parquet").write_bytes(body.getbuffer())


def _write_csv(book: Book, folder: Path) -> None:
    for table in TABLES:
        with (folder / f"{table}.csv").open("w", encoding="utf-8", newline="") as file:
            write_csv(file, [names_of(table)])
            write_csv(file, table_rows(book, table))


def _write_sqlite(book: Book, folder: Path) -> None:
    written: dict[str, tuple[dict[str, str], Rows]] = {}
    for table, columns in tables().items():
        types = {column.name: SQL.get(column.type, "TEXT") for column in columns}
        written[table] = types, table_rows(book, table)
    write_tables(folder / SQLITE_FILE, written)


FORMS: Mapping[str, Callable[[Book, Path], None]] = MappingProxyType(
    {"parquet": _write_parquet, "csv": _write_csv, "sqlite": _write_sqlite}
)

OURS: Final = {SQLITE_FILE, *(f"{table}.{form}" for table in TABLES for form in FORMS)}
"""The names of files that an export writes, which another one may replace."""


@contextmanager
def _whole_folder(target: Path, *, replace: bool) -> Iterator[Path]:
    """A draft to write into, which takes its place once all is written."""
    _check_place(target, replace=replace)
    draft = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}.", suffix=DRAFT))
    try:
        yield draft
        for file in draft.iterdir():
            sync_file(file)
        draft.chmod(0o755)
        _put(draft, target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    sync_directory(target.parent)


def _put(draft: Path, target: Path) -> None:
    """Move a draft to its place; what was there becomes the draft."""
    if not target.exists():
        draft.rename(target)
        return
    old = draft.with_name(f"{draft.name}.old")
    target.rename(old)
    try:
        draft.rename(target)
    except OSError:
        old.rename(target)
        raise
    old.rename(draft)


def _check_place(target: Path, *, replace: bool) -> None:
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise StoreError(f"{target} is not a folder; choose another name.")
    strange = next((f for f in target.glob("*") if f.name not in OURS or not f.is_file()), None)
    if strange is not None:
        raise StoreError(f"{strange} is not of an export; choose another folder.")
    if target.exists() and not replace:
        raise StoreError(f"{target} exists; choose another folder, or replace it with --force.")
