"""Scratch: a folder of one run in a store that all machines of a cluster reach.

The nightly puts the sorted bars there, and each worker reads the parts of its task. The run removes
it in the end. What a killed run left is removed by the next one.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import os
import re
import socket
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Final

from screener.nightly.errors import SourceError
from screener.nightly.pool import in_threads
from screener.nightly.reading.sorting import SortedSource
from screener.nightly.reading.source import Step
from store.errors import ObjectsError
from store.folder.lock import lives
from store.remote.objects import Objects

FOLDER: Final = "scratch"
SHARING: Final = "sharing the sorted bars"
MAX_BYTES: Final = 1 << 30
"""A part has 10 MB, unless one symbol has more rows than any market."""
AT_ONCE: Final = 4
TRIES: Final = 3
"""How often a file is read whose bytes are not those that were put there."""
MAX_RUN: Final = dt.timedelta(days=2)
"""What a run of another machine left is removed after this time."""
STAMP: Final = "%Y%m%dT%H%M%SZ"


@dataclass(frozen=True, slots=True)
class Scratch:
    """The folder of one run; a worker reads from it without having made it."""

    url: str
    run: str

    def read(self, name: str) -> bytes:
        """The bytes of a file that is named by its digest.

        Raises:
            SourceError: it is gone, or is not what was put there.
            ObjectsError: the store does not answer.
        """
        for _ in range(TRIES):
            found = _opened(self.url).read(self._name(name), MAX_BYTES)
            if found is None:
                raise SourceError(
                    f"The sorted bars of this run are gone from {FOLDER}/ of {self.url}; do not "
                    "touch that folder while a nightly runs, and run it again."
                )
            if hashlib.sha256(found.body).hexdigest() == name.partition(".")[0]:
                return found.body
        raise SourceError(f"{self.url} returns other bytes for {name} than were written there.")

    def share(self, source: SortedSource, folder: Path, step: Step) -> SortedSource:
        """Put the files of a source there, and return a source that reads them there.

        Raises:
            ObjectsError: the store cannot be written.
        """
        files = sorted(folder.iterdir())
        in_threads(self._put, files, AT_ONCE, partial(step, SHARING))
        return replace(source, read=self.read)

    def _put(self, file: Path) -> None:
        _opened(self.url).put(self._name(file.name), file)

    def _name(self, file: str) -> str:
        return f"{FOLDER}/{self.run}/{file}"


_opened: Final = cache(Objects)


@contextmanager
def scratch_in(
    url: str, now: dt.datetime, setting: str = "SCREENER_SCRATCH_URL"
) -> Iterator[Scratch]:
    """A folder for one run in the store at the address of a setting, removed at the end of the
    block.

    Raises:
        ObjectsError: the store does not answer, or cannot be written.
    """
    # Two machines may have the same name, and process numbers repeat from machine to machine.
    host = re.sub(r"[^A-Za-z0-9]", "_", socket.gethostname())[:100]
    machine = f"{host}_{uuid.getnode():012x}"
    store = Objects(url, setting)
    run = f"{machine}-{os.getpid()}-{now:{STAMP}}"
    _remove(store, lambda other: _is_left(other, machine, now))
    try:
        yield Scratch(url, run)
    finally:
        with suppress(ObjectsError):  # the next run removes it
            _remove(store, run.__eq__)


def _remove(store: Objects, wanted: Callable[[str], bool]) -> None:
    """Remove the folders of some runs, file by file."""
    for name in list(store.names(FOLDER)):
        if wanted(name.split("/")[1]):
            store.remove(name)


def _is_left(run: str, machine: str, now: dt.datetime) -> bool:
    """Whether a folder is of a run that ended without removing it."""
    made = re.fullmatch(r"(\w+)-(\d+)-(\d{8}T\d{6}Z)", run)
    if made is None:
        return False
    if made[1] == machine:
        process = int(made[2])
        return process == os.getpid() or not lives(process)
    return now - dt.datetime.strptime(made[3], STAMP).replace(tzinfo=dt.UTC) > MAX_RUN
