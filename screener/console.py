"""Console: where the command line writes, and how it fails: one line, exit code 2.

Names that strangers gave are printed too. So no text is markup here, and whatever is printed is one
line without control characters, which could steer the terminal.

Here and in the modules of commands, a function imports what it needs when it is called: `--help`
and a list of keys should not wait for a web server and a detector to load.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeVar

import typer

from nightly.errors import NightlyError, WorkerError
from screener.terminal import harmless
from store.errors import BusyError, HeldBackError, SealedError, StoreError
from store.files import narrow, private_folder

if TYPE_CHECKING:
    from screener.settings import Settings
    from store.accounts import Accounts
    from store.database import Database
    from store.keys import Keys

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

DATA = (
    *("nights", "ledger", "charts", "bars", "manifest.json", "checkpoints.sqlite", "nightly.lock"),
    *("progress.json", "progress.lock"),
    *("accounts.sqlite", "accounts.sqlite-wal", "accounts.sqlite-shm"),
)
"""What the data folder holds. Nothing else in it is touched, since it may be a folder of yours."""

T = TypeVar("T")


class Table:
    """Cells under names, each column as wide as its widest cell: nothing is cut."""

    def __init__(self, *names: str) -> None:
        self._rows = [names]

    def add_row(self, *cells: str) -> None:
        """Add a row with a cell for each column."""
        self._rows.append(tuple(map(harmless, cells)))

    def lines(self) -> Iterator[str]:
        """The table as text."""
        from rich.cells import cell_len

        widths = [max(map(cell_len, column)) for column in zip(*self._rows, strict=True)]
        for row in self._rows:
            padded = (
                cell + " " * (width - cell_len(cell))
                for cell, width in zip(row, widths, strict=True)
            )
            yield "  ".join(padded).rstrip()


class Output:
    """Prints lines on one of the standard streams."""

    def __init__(self, stream: Literal["stdout", "stderr"]) -> None:
        self._stream = stream

    def print(self, what: str | Table = "") -> None:
        """Print one line, or a table."""
        lines = what.lines() if isinstance(what, Table) else [harmless(what)]
        getattr(sys, self._stream).writelines(f"{line}\n" for line in lines)

    def print_json(self, value: object) -> None:
        """Print JSON values, indented, in ASCII: whatever is not is escaped."""
        getattr(sys, self._stream).write(f"{json.dumps(value, indent=2)}\n")


err = Output("stderr")
out = Output("stdout")


def fail(message: str, code: int = USAGE) -> NoReturn:
    """End the command with one line on stderr."""
    err.print(f"screener: {message}")
    raise typer.Exit(code)


@contextmanager
def plainly() -> Iterator[None]:
    """Turn every expected failure into its one line."""
    from screener.settings import SettingsError

    try:
        yield
    except (NightlyError, SettingsError, StoreError) as error:
        fail(str(error), EXITS.get(type(error), USAGE))


def settings(**overrides: object) -> Settings:
    """The settings, or one line that says which one is wrong; the logs follow them."""
    from screener.logs import configure
    from screener.settings import load_settings

    with plainly():
        chosen = load_settings(**overrides)
    configure(chosen.log_level)
    return chosen


def with_database(work: Callable[[Database, Settings], Coroutine[Any, Any, T]]) -> T:
    """Run work on the configured database, brought up to date first."""
    import anyio

    from store.database import Database

    chosen = settings()

    async def run() -> T:
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
    from store.accounts import Accounts

    return with_database(lambda database, _chosen: work(Accounts(database)))


def with_keys(work: Callable[[Keys], Coroutine[Any, Any, T]]) -> T:
    """Run work on the keys of the configured database."""
    from store.keys import Keys

    return with_database(lambda database, chosen: work(Keys(database, prefix=chosen.key_prefix)))


def prepare_data_dir(chosen: Settings) -> None:
    """Make the data folder; what others may read in it becomes its owner's alone.

    Raises:
        StoreError: it cannot be made, written or restricted.
    """
    try:
        private_folder(chosen.data_dir.resolve())
        narrow(chosen.data_dir / name for name in DATA)
        probe = chosen.data_dir / ".writable"
        probe.touch(mode=0o600)
        probe.unlink()
    except OSError as error:
        raise StoreError(
            f"The data folder {chosen.data_dir} cannot be written ({error.strerror}); "
            "set SCREENER_DATA_DIR to one that can."
        ) from error
