"""Console: where the command line writes, and how it fails: one line, exit code 2."""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn, TypeVar

import anyio
import typer
from rich.console import Console
from rich.table import Column, Table

from nightly.errors import NightlyError, WorkerError
from screener.settings import Settings, SettingsError, load_settings
from store.accounts import Accounts
from store.database import Database
from store.errors import BusyError, HeldBackError, SealedError, StoreError
from store.files import private_folder

USAGE = 2
"""The exit code of everything that the operator can put right."""

EXITS: Mapping[type[Exception], int] = {
    BusyError: 3,
    HeldBackError: 4,
    SealedError: 5,
    WorkerError: 7,
}
"""The exit codes that a scheduler can tell apart (docs/scheduling.md); 6 is `DRIFT`."""

DRIFT = 6
"""The night is published, but a walk that was resumed is not what its bars give."""

PIPED_WIDTH = 200
"""Columns where nobody watches: a table is read by a program then, and must not be cut."""

# Without markup: a name of a file or symbol in brackets would be read as a style, and vanish.
err = Console(stderr=True, highlight=False, markup=False)
out = Console(
    highlight=False,
    markup=False,
    soft_wrap=True,
    width=None if sys.stdout.isatty() else PIPED_WIDTH,
)

T = TypeVar("T")


def table(*names: str) -> Table:
    """A table with columns of these names, in as little room as it can do with."""
    columns = (Column(name, no_wrap=True) for name in names)
    return Table(*columns, box=None, pad_edge=False)


def fail(message: str, code: int = USAGE) -> NoReturn:
    """End the command with one line on stderr."""
    sys.stderr.write(f"screener: {message}\n")
    raise typer.Exit(code)


@contextmanager
def plainly() -> Iterator[None]:
    """Turn every expected failure into its one line."""
    try:
        yield
    except (NightlyError, SettingsError, StoreError) as error:
        fail(str(error), EXITS.get(type(error), USAGE))


def settings(**overrides: object) -> Settings:
    """The settings, or one line that says which one is wrong."""
    with plainly():
        return load_settings(**overrides)


def with_database(work: Callable[[Database, Settings], Coroutine[Any, Any, T]]) -> T:
    """Run work on the configured database, brought up to date first."""

    async def run() -> T:
        chosen = load_settings()
        prepare_data_dir(chosen)
        database = Database(chosen.accounts_url)
        try:
            await database.migrate()
            return await work(database, chosen)
        finally:
            await database.close()

    with plainly():
        return anyio.run(run)


def with_accounts(work: Callable[[Accounts], Coroutine[Any, Any, T]]) -> T:
    """Run work on the accounts of the configured database."""
    return with_database(
        lambda database, chosen: work(Accounts(database, key_prefix=chosen.key_prefix))
    )


def prepare_data_dir(chosen: Settings) -> None:
    """Make the data folder, private to its owner.

    Raises:
        StoreError: it cannot be made or written.
    """
    try:
        private_folder(chosen.data_dir)
        probe = chosen.data_dir / ".writable"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise StoreError(
            f"The data folder {chosen.data_dir} cannot be written ({error.strerror}); "
            "set SCREENER_DATA_DIR to one that can."
        ) from error
