"""Progress: what the nightly of a data folder is doing, or how the last one ended, in one file.

The run that writes the file holds the lock of the folder, which ends with its process, however that
ends: a killed run never looks as if it were still at work.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from store.folder.files import replace_file
from store.folder.layout import DataFolder
from store.folder.lock import holder, locked
from store.wire.labels import LEFT_OUT, words_of
from store.wire.words import short

MAX_BYTES: Final = 128 * 1024
"""A larger file is not one that a run wrote."""

MAX_NAMED: Final = 24
"""The most left-out names that are listed; the others are counted."""

NAMED_FOR_EACH: Final = 6
"""The most names that are listed for one reason."""

MAX_REASONS: Final = 24

MAX_TEXT: Final = 240
"""Characters of any text in the record but the message."""

MAX_MESSAGE: Final = 600

APART: Final = 0.25
"""Seconds between two writes within one step."""

STARTING: Final = dt.timedelta(minutes=1)
"""For so long a run that was announced may take to begin."""

STOPPED: Final = "The run was stopped before it ended; nothing was published."

State = Literal["starting", "working", "published", "unchanged", "held_back", "failed"]

Clock = Callable[[], dt.datetime]


class Left(BaseModel):
    """What was left out for one reason."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    code: str
    count: int
    named: dict[str, str]
    """Some of the symbols or files, each with its reason in one sentence."""

    def __hash__(self) -> int:
        return hash((self.code, self.count))  # the names are compared

    @property
    def words(self) -> str:
        """The reason in words."""
        return words_of(self.code, LEFT_OUT)


class Progress(BaseModel):
    """What a run of the nightly is doing, or how it ended."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    state: State
    bars: str
    """The name of the file or folder of bars, without its path."""
    started_at: dt.datetime
    """In UTC, as `written_at`."""
    written_at: dt.datetime
    step: str = ""
    done: int = 0
    total: int = 0
    """Total of the step; 0 where it is not known."""
    left: tuple[Left, ...] = ()
    """What was left out so far."""
    message: str = ""
    """Why nothing was published, in one sentence."""
    data_version: str | None = None
    """Id of the night that was published."""

    @property
    def working(self) -> bool:
        return self.state == "working"

    @property
    def left_out(self) -> int:
        """How many symbols and files were left out so far."""
        return sum(left.count for left in self.left)


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


class ProgressFile:
    """The record of a data folder's newest run."""

    def __init__(self, data_dir: Path, clock: Clock = _now) -> None:
        self._data_dir = data_dir
        self._path = DataFolder(data_dir).progress
        self._clock = clock

    def read(self) -> Progress | None:
        """The newest run; None if there was none, or its record is not one."""
        progress = self._parsed()
        if progress is not None and not self._may_live(progress):
            progress = self._parsed()  # between both looks it may have ended as it should
            if progress is not None and not self._may_live(progress):
                return _stopped(progress)
        if progress is not None and progress.state == "starting":
            return progress.model_copy(update={"state": "working"})
        return progress

    def announce(self, bars: str) -> None:
        """Note that a run is about to begin, unless another one is under way."""
        progress, now = self.read(), self._clock()
        if progress is None or not progress.working:
            begins = Progress(state="starting", bars=_short(bars), started_at=now, written_at=now)
            _write(self._path, begins)

    def retract(self) -> None:
        """Note that a run that was announced will not begin."""
        progress = self._parsed()
        if progress is not None and progress.state == "starting":
            _write(self._path, _stopped(progress))

    @contextmanager
    def recording(self, bars: str) -> Iterator[Recorder]:
        """Hold the lock of the data folder and record a run within the block.

        Raises:
            BusyError: another process holds the lock; the record stays.
        """
        with locked(self._data_dir, self._clock()):
            yield Recorder(self._path, bars, self._clock)

    def _parsed(self) -> Progress | None:
        try:
            with self._path.open("rb") as file:
                body = file.read(MAX_BYTES + 1)
            return Progress.model_validate_json(body) if len(body) <= MAX_BYTES else None
        except (OSError, ValidationError):
            return None

    def _may_live(self, progress: Progress) -> bool:
        """Whether a run that is said to be at work may be; True for one that has ended."""
        if progress.state == "starting":
            return self._clock() - progress.written_at < STARTING
        return not progress.working or holder(self._data_dir) is not None


class Recorder:
    """Writes the record of one run, if it has a path. What cannot be written stops no run."""

    def __init__(self, path: Path | None, bars: str, clock: Clock = _now) -> None:
        self._path = path
        self._clock = clock
        now = clock()
        self._progress = Progress(
            state="working", bars=_short(bars), started_at=now, written_at=now
        )
        self._left: dict[str, dict[str, str]] = {}
        self._counts: dict[str, int] = {}
        self._written = 0.0
        self._write()

    def step(self, name: str, done: int, total: int) -> None:
        """Note that so much of a step is done."""
        anew = name != self._progress.step
        update = {"step": _short(name), "done": done, "total": total}
        self._progress = self._progress.model_copy(update=update)
        if anew or time.monotonic() - self._written >= APART:
            self._write()

    def leave_out(self, name: str, code: str, reason: str) -> None:
        """Note that a symbol or a file was left out; it is written with the next step."""
        if code not in self._counts and len(self._counts) == MAX_REASONS:
            return
        self._counts[code] = self._counts.get(code, 0) + 1
        named = self._left.setdefault(code, {})
        if len(named) < NAMED_FOR_EACH and sum(map(len, self._left.values())) < MAX_NAMED:
            base = name.rpartition("/")[2] or name
            named[_short(base)] = _short(reason.replace(name, base))

    def end(
        self,
        state: State,
        message: str = "",
        *,
        data_version: str | None = None,
        left: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        """Note how the run ended. `left` is all that was left out: by code, and there by name, why.

        The first end is kept.
        """
        if not self._progress.working:
            return
        if left is not None:
            self._left, self._counts = {}, {}
            for code, reasons in left.items():
                for name, reason in reasons.items():
                    self.leave_out(name, code, reason)
        said = short(message, MAX_MESSAGE)
        update = {"state": state, "message": said, "data_version": data_version}
        self._progress = self._progress.model_copy(update=update)
        self._write()

    def _write(self) -> None:
        self._written = time.monotonic()
        if self._path is None:
            return
        left = tuple(
            Left(code=_short(code), count=count, named=self._left.get(code, {}))
            for code, count in sorted(self._counts.items())
        )
        update = {"left": left, "written_at": self._clock()}
        self._progress = self._progress.model_copy(update=update)
        _write(self._path, self._progress)


def _stopped(progress: Progress) -> Progress:
    return progress.model_copy(update={"state": "failed", "message": STOPPED})


def _write(path: Path, progress: Progress) -> None:
    """Replace the record. A full disk must not end a run for its sake."""
    with contextlib.suppress(OSError):
        replace_file(path, progress.model_dump_json().encode())


def _short(text: str) -> str:
    return short(text, MAX_TEXT)
