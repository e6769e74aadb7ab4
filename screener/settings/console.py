"""Console: where the command line writes, and how it fails: one line and an exit code.

Names that strangers gave are printed too. So no text is markup here, and whatever is printed is one
line without control characters, which could steer the terminal.

Here and in the modules of commands, a function imports what it needs when it is called: `--help`
and a list of keys should not wait for a web server and a detector to load.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeVar

from screener.nightly.errors import NightlyError, WorkerError
from screener.settings.errors import EndedError, SettingsError, uninstalled
from store.errors import (
    BusyError,
    DatabaseUnavailableError,
    HeldBackError,
    ObjectsError,
    OvertakenError,
    SealedError,
    StoreError,
)
from store.folder.files import narrow, private_data_folder
from store.folder.layout import DataFolder
from store.folder.trouble import is_of_disk, trouble_of
from store.wire.csv_files import csv_text
from store.wire.words import harmless

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console
    from rich.progress import Progress, TaskID

    from screener.settings.settings import Settings

NO_NIGHT = 1
"""The exit code of a command that reads a night, where there is none yet."""

USAGE = 2
"""The exit code of everything that the operator can put right."""

REFUSED = 8
"""The exit code if the disk, the account database or the shared store refuses: the same may work
later."""

EXITS: Mapping[type[Exception], int] = {
    BusyError: 3,
    HeldBackError: 4,
    SealedError: 5,
    WorkerError: 7,
    DatabaseUnavailableError: REFUSED,
    ObjectsError: REFUSED,
    OvertakenError: 9,
}
"""The exit codes that a scheduler can tell apart (docs/operate.md); 6 is `DRIFT`."""

DRIFT = 6
"""The night is published, but a walk that was resumed is not what its bars give."""

INTERRUPTED = 130
"""The exit code after Ctrl-C, as shells have it."""

MIN_WIDTH = 40
"""A terminal is taken to have so many columns at least."""

T = TypeVar("T")


class Table:
    """Cells under names, each column as wide as its widest cell: nothing is cut."""

    def __init__(self, *names: str, right: Collection[str] = ()) -> None:
        """Take the names; the cells under those of `right` end below each other, as numbers do."""
        self._rows = [names]
        self._right = [name in right for name in names]

    def add_row(self, *cells: str) -> None:
        """Add a row with a cell for each column."""
        self._rows.append(tuple(map(harmless, cells)))

    @property
    def width(self) -> int:
        """The cells of a terminal that it takes."""
        return sum(self._widths()) + 2 * (len(self._right) - 1)

    def lines(self) -> Iterator[str]:
        """The table as text."""
        from rich.cells import cell_len

        widths = self._widths()
        for row in self._rows:
            padded = []
            for cell, width, right in zip(row, widths, self._right, strict=True):
                space = " " * (width - cell_len(cell))
                padded.append(space + cell if right else cell + space)
            yield "  ".join(padded).rstrip()

    def _widths(self) -> list[int]:
        from rich.cells import cell_len

        return [max(map(cell_len, column)) for column in zip(*self._rows, strict=True)]


def or_dash(value: Any, write: Callable[[Any], str] = str) -> str:  # noqa: ANN401 - to write
    """The cell of a value; a dash where there is none."""
    return "-" if value is None else write(value)


class Output:
    """Prints lines on one of the standard streams."""

    def __init__(self, stream: Literal["stdout", "stderr"]) -> None:
        self._stream = stream

    def print(self, what: str | Table = "") -> None:
        """Print one line, or a table."""
        self._write_lines(what.lines() if isinstance(what, Table) else [harmless(what)])

    def print_text(self, text: str, label: str = "") -> None:
        """Print a paragraph, behind a label if one is given, in lines that a terminal need not
        break; no word is broken.
        """
        lines = textwrap.wrap(
            harmless(text),
            terminal_width(),
            initial_indent=harmless(label),
            subsequent_indent=" " * len(label),
            break_long_words=False,
            break_on_hyphens=False,
        )
        self._write_lines(lines)

    def print_csv(self, rows: Iterable[Sequence[object]]) -> None:
        """Print rows of values as CSV."""
        self.write(csv_text(rows))

    def print_json(self, value: object) -> None:
        """Print JSON values, indented, in ASCII: whatever is not is escaped."""
        self.write(f"{json.dumps(value, indent=2)}\n")

    def _write_lines(self, lines: Iterable[str]) -> None:
        self.write("".join(f"{line}\n" for line in lines))

    def write(self, text: str) -> None:
        """Write now, since at the end of the process a full disk could not be told any more."""
        stream = getattr(sys, self._stream)
        try:
            stream.write(text)
            stream.flush()
        except BrokenPipeError:  # whoever reads has enough; the command ends quietly
            raise
        except OSError as error:
            with open(os.devnull, "wb") as nowhere:  # noqa: PTH123 - takes what is left at the end
                os.dup2(nowhere.fileno(), stream.fileno())
            if self._stream == "stderr":
                raise EndedError(USAGE) from error
            fail(f"the output cannot be written ({error.strerror}); make room for it.")


class Watch:
    """Progress of some work on stderr, and how long each of its steps took."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._tasks: dict[str, TaskID] = {}
        self._begun: dict[str, float] = {}

    def __call__(self, name: str, done: int, total: int) -> None:
        """Note that so much of a step is done."""
        count = f"{done:,}/{total:,}" if total else f"{done:,}" if done else ""
        if name not in self._tasks:
            for earlier in self._tasks.values():
                self._progress.update(earlier, completed=1, total=1, count="done")
            self._tasks[name] = self._progress.add_task(name, total=total or None, count=count)
            self._begun[name] = time.perf_counter()
        self._progress.update(self._tasks[name], completed=done, total=total or None, count=count)

    def seconds(self) -> dict[str, float]:
        """The seconds from the beginning of each step to that of the next, or to now."""
        ends = [*list(self._begun.values())[1:], time.perf_counter()]
        return {
            name: end - begin for (name, begin), end in zip(self._begun.items(), ends, strict=True)
        }


@contextmanager
def watched(console: Console | None = None) -> Iterator[Watch]:
    """Progress on a console, stderr if none is given: a bar for each step."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
    )

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[count]}"),
        TimeElapsedColumn(),
    )
    console = console or Console(stderr=True)
    shown = console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=not shown) as progress:
        yield Watch(progress)


def terminal_width() -> int:
    """The columns of the terminal; COLUMNS sets them, and 80 is taken where there is none."""
    return max(MIN_WIDTH, shutil.get_terminal_size().columns)


err = Output("stderr")
out = Output("stdout")


def fail(message: str, code: int = USAGE) -> NoReturn:
    """End the command with one line on stderr."""
    err.print(f"screener: {message}")
    raise EndedError(code)


@contextmanager
def writing(path: Path, option: str) -> Iterator[None]:
    """End the command with one line if a file cannot be written that an option names; trouble of
    the disk is left to `plainly`.
    """
    try:
        yield
    except OSError as error:
        if is_of_disk(error):
            raise
        fail(f"{path} cannot be written ({error.strerror}); choose another {option}.")


def warn(message: str) -> None:
    """One line on stderr about what does not stop the command."""
    err.print(f"screener: warning: {message}")


def exit_code(error: Exception) -> int:
    """What a command ends with that failed as expected."""
    refused = any(is_of_disk(each) for each in (error, error.__cause__))
    return EXITS.get(type(error), REFUSED if refused else USAGE)


def failure_words(error: Exception) -> str | None:
    """The text of an expected failure; None for any other."""
    if isinstance(error, NightlyError | SettingsError | StoreError):
        return str(error)
    return uninstalled(error) or trouble_of(error)


@contextmanager
def plainly() -> Iterator[None]:
    """Turn every expected failure into its one line."""
    try:
        yield
    except Exception as error:
        words = failure_words(error)
        if words is None:
            raise
        fail(words, exit_code(error))


def settings(**overrides: object) -> Settings:
    """The settings; the logs follow them. A variable that is none, unlike any setting, is warned
    of.

    Raises:
        SettingsError: one is wrong.
    """
    from screener.settings.logs import configure
    from screener.settings.settings import load_settings, unknown_settings

    chosen = load_settings(**overrides)
    for unknown in unknown_settings():
        warn(f"{unknown} is not a setting; `screener settings` lists them all.")
    configure(chosen.log_level, chosen.log_format)
    return chosen


def prepare_data_dir(chosen: Settings) -> None:
    """Make the data folder; what others may read in it becomes its owner's alone.

    Raises:
        StoreError: it cannot be made, written or restricted.
    """
    try:
        private_data_folder(chosen.data_dir.resolve())
        narrow(DataFolder(chosen.data_dir))
        probe = chosen.data_dir / ".writable"
        probe.touch(mode=0o600)
        probe.unlink()
    except OSError as error:
        raise StoreError(
            f"The data folder {chosen.data_dir} cannot be written ({error.strerror}); "
            "set SCREENER_DATA_DIR to one that can."
        ) from error
