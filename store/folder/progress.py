"""Progress: what the nightly of a data folder is doing, or how the last one ended, in one file.

The run that writes the file holds a lock beside it. The operating system releases the lock when the
process ends, however it ends, so a killed run never looks as if it were still at work.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import fcntl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal

from filelock import FileLock, Timeout
from pydantic import BaseModel, ConfigDict, ValidationError

from store.folder.files import replace_file
from store.wire.labels import LEFT_OUT, words_of
from store.wire.words import short

PROGRESS: Final = "progress.json"
LOCK: Final = "progress.lock"

MOST_BYTES: Final = 128 * 1024
"""A larger file is not one that a run wrote."""

MOST_NAMED: Final = 24
"""Of all that was left out, so many are named; the others are counted."""

NAMED_FOR_EACH: Final = 6
"""Of what was left out for one reason, so many are named."""

MOST_REASONS: Final = 24

LONGEST: Final = 240
"""Characters of any text in the record but the message."""

LONGEST_MESSAGE: Final = 600

APART: Final = 0.25
"""Seconds between two writes within one step."""

WAIT_SECONDS: Final = 1.0
"""A reader shares the lock for an instant, to see whether it is free; a run waits for that."""

BELIEVED: Final = dt.timedelta(hours=1)
"""For so long a run is believed to be at work where the folder does not let anybody ask."""

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
    """Of the step; 0 where it is not known."""
    left: tuple[Left, ...] = ()
    """What was left out so far."""
    message: str = ""
    """Why nothing was published, in one sentence."""
    data_version: str | None = None
    """Of the night that was published."""

    @property
    def working(self) -> bool:
        """Whether the run is under way."""
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
        self._path = data_dir / PROGRESS
        self._lock = data_dir / LOCK
        self._clock = clock

    def read(self) -> Progress | None:
        """The newest run; None if there was none, or its record is not one."""
        found = self._parsed()
        if found is not None and found.state == "starting":
            if self._clock() - found.written_at < STARTING:
                return found.model_copy(update={"state": "working"})
            return _stopped(found)
        if found is None or not found.working or self._is_held(found):
            return found
        found = self._parsed()  # between both looks it may have ended as it should
        if found is None or not found.working:
            return found
        return _stopped(found)

    def announce(self, bars: str) -> None:
        """Note that a run is about to begin, unless another one is under way."""
        found, now = self.read(), self._clock()
        if found is None or not found.working:
            begins = Progress(state="starting", bars=_short(bars), started_at=now, written_at=now)
            _write(self._path, begins)

    def retract(self) -> None:
        """Note that a run that was announced will not begin."""
        found = self._parsed()
        if found is not None and found.state == "starting":
            _write(self._path, _stopped(found))

    @contextmanager
    def recording(self, bars: str, *, apart: bool = False) -> Iterator[Recorder]:
        """Record a run within the block. If another run is recorded now, this one is not, and
        neither is one `apart`, which publishes nothing.
        """
        if apart:
            yield Recorder(None, bars, self._clock)
            return
        lock = FileLock(self._lock, mode=0o600)
        try:
            lock.acquire(timeout=WAIT_SECONDS)
        except (Timeout, OSError):
            yield Recorder(None, bars, self._clock)
            return
        try:
            yield Recorder(self._path, bars, self._clock)
        finally:
            lock.release()

    def _parsed(self) -> Progress | None:
        try:
            with self._path.open("rb") as file:
                body = file.read(MOST_BYTES + 1)
            return Progress.model_validate_json(body) if len(body) <= MOST_BYTES else None
        except (OSError, ValidationError):
            return None

    def _is_held(self, found: Progress) -> bool:
        """Whether the run that wrote the record still lives. Readers share the lock, so that none
        takes another one for a run.
        """
        try:
            with self._lock.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except FileNotFoundError:
            return False
        except OSError:
            return self._clock() - found.written_at < BELIEVED
        return False


class Recorder:
    """Writes the record of one run. What cannot be written stops no run."""

    def __init__(self, path: Path | None, bars: str, clock: Clock) -> None:
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
        if code not in self._counts and len(self._counts) == MOST_REASONS:
            return
        self._counts[code] = self._counts.get(code, 0) + 1
        named = self._left.setdefault(code, {})
        if len(named) < NAMED_FOR_EACH and sum(map(len, self._left.values())) < MOST_NAMED:
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
        said = short(message, LONGEST_MESSAGE)
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
    return short(text, LONGEST)
