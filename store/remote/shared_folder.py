"""Shared folder: objects as files of a folder that several machines mount.

A file is written under another name and renamed; the one object that is replaced is compared and
replaced under a lock file, so the file system must have locks that hold between machines, as NFS
version 4 and SMB do.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from store.errors import ConflictError, ObjectsError
from store.folder.files import DRAFT, sync_directory
from store.remote.objects import NAME, Object, checked_name

LOCK: Final = ".swap.lock"

LOCK_SECONDS: Final = 30.0
"""Seconds to wait for the lock, which is held for one comparison and one rename."""

PIECE: Final = 2**20

FILE: Final = 0o640
FOLDER: Final = 0o750
"""The group may read: servers of another user than the nightly's are in its group."""

ABANDONED: Final = 24 * 3600.0
"""Seconds after which a draft is taken to be of a machine that went away."""


class SharedFolder:
    """The objects in a folder, which must exist: a share that is not mounted is not made."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.place = folder.as_uri()

    def read(self, name: str, most: int, known: str | None = None) -> Object | None:
        """An object, as `Objects.read`."""
        with self._told(name):
            try:
                with self._path(name).open("rb") as file:
                    body = file.read(most + 1)
            except FileNotFoundError:
                self._check_folder()
                return None
            self._check_size(name, len(body), most)
            tag = _tag(body)
            return Object(b"" if tag == known else body, tag)

    def has(self, name: str) -> bool:
        """Whether there is such an object."""
        with self._told(name):
            found = self._path(name).is_file()
            self._check_folder()
            return found

    def fetch(self, name: str, path: Path, most: int) -> None:
        """Write an object into a new file, as `Objects.fetch`."""
        with self._told(name), self._path(name).open("rb") as source:
            self._check_size(name, os.fstat(source.fileno()).st_size, most)
            with path.open("wb") as file:
                shutil.copyfileobj(source, file, PIECE)
            self._check_size(name, path.stat().st_size, most)

    def put(self, name: str, body: bytes | Path) -> None:
        """Store an object, as `Objects.put`."""
        with self._told(name):
            self._replace(self._path(name), body)

    def swap(self, name: str, body: bytes, tag: str | None) -> str:
        """Replace the object that has this tag, as `Objects.swap`."""
        with self._told(name), self._locked():
            path = self._path(name)
            there = _tag_of(path) if path.exists() else None
            if there != tag:
                raise ConflictError(f"{name} of {self.place} was replaced in the meantime.")
            self._sweep()
            self._replace(path, body)
            return _tag(body)

    def names(self, folder: str) -> Iterator[str]:
        """The names of all objects in a folder, as `Objects.names`."""
        with self._told(folder):
            self._check_folder()
            for path in self._path(folder).rglob("*"):
                name = path.relative_to(self.folder).as_posix()
                if NAME.fullmatch(name) and path.is_file():
                    yield name

    def remove(self, name: str) -> None:
        """Remove an object; one that is not there is no error."""
        with self._told(name):
            self._path(name).unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        return self.folder / checked_name(name)

    def _replace(self, path: Path, body: bytes | Path) -> None:
        self._check_folder()
        path.parent.mkdir(mode=FOLDER, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=DRAFT)
        draft = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                if isinstance(body, Path):
                    with body.open("rb") as source:
                        shutil.copyfileobj(source, file, PIECE)
                else:
                    file.write(body)
                file.flush()
                os.fsync(file.fileno())
            draft.chmod(FILE)
            draft.replace(path)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
        sync_directory(path.parent)

    def _sweep(self) -> None:
        """Remove the drafts of writers that were killed."""
        for draft in self.folder.rglob(f".*{DRAFT}"):
            with suppress(FileNotFoundError):  # it has its name by now
                if time.time() - draft.stat().st_mtime > ABANDONED:
                    draft.unlink()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self._check_folder()
        try:
            with FileLock(self.folder / LOCK, timeout=LOCK_SECONDS, mode=FILE):
                yield
        except Timeout as error:
            raise ObjectsError(
                f"{self.place} has been locked by another machine for more than {LOCK_SECONDS:.0f} "
                "s; check that locks work on the share."
            ) from error

    def _check_folder(self) -> None:
        if not self.folder.is_dir():
            raise ObjectsError(f"There is no folder at {self.place}; mount the share or make it.")

    def _check_size(self, name: str, size: int, most: int) -> None:
        if size > most:
            raise ObjectsError(
                f"{name} of {self.place} is larger than the {most:,} bytes that it may have."
            )

    @contextmanager
    def _told(self, name: str) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError as error:
            self._check_folder()
            raise ObjectsError(f"There is no {name} at {self.place}.") from error
        except OSError as error:
            raise ObjectsError(
                f"{self.place} cannot be used for {name} ({error.strerror}); its user must be able "
                "to read it, and the nightly's to write it."
            ) from error


def _tag(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def _tag_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
