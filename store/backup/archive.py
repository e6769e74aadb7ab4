"""Archive: the one file of a backup. It is a tar of regular files alone (POSIX 1003.1), compressed
with zstandard (RFC 8878) as one frame with a checksum; `zstd -dc FILE | tar x` unpacks it. The last
member, `contents.json`, names the size and digest of each other. What is read is taken as hostile.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final, Self

import orjson
import zstandard

from store.errors import BackupError

CONTENTS: Final = "contents.json"
PIECE: Final = 2**20
PACKED_PIECE: Final = 1024
"""Bytes that are unpacked at once: no more than 32 MiB come of them, however hostile."""

SKIPPED: Final = re.compile(rb"(\x50\x2a\x4d\x18\x20\x00\x00\x00.{32})?", re.DOTALL)
"""What may follow: a skippable frame of 32 bytes (RFC 8878, 3.1.2), in which older backups end."""

Contents = dict[str, dict[str, int | str]]
"""The size and digest of each member by its name."""

MAX_MEMBERS: Final = 65_536
"""All are listed in memory: of rows, each has a mebibyte."""
MAX_LISTED: Final = 256
"""Bytes of a line of that list: a name, a size, a digest."""
MAX_WINDOW: Final = 2**25
"""Bytes of memory that decompression may take; what is written needs 2 MiB."""

NAME: Final = re.compile(
    r"backup\.json|contents\.json|database/[a-z_]{1,40}/\d{6}\.jsonl|night/manifest\.json"
    r"|night/\d{8}-[0-9a-f]{12}\.book|ledger/head\.json"
    r"|ledger/\d{6}-\d{8}-[0-9a-f]{12}(\.withdrawal)?\.jsonl\.gz"
)
"""Every name that a backup may hold; none leads out of a folder."""

Progress = Callable[[str, int, int], None]
"""Told of a step, how much of it is done and how much there is; 0 if that is not known."""


def silent(_step: str, _done: int, _total: int) -> None:
    """No progress."""


class _Hashed(io.RawIOBase):
    """Passes bytes on to a file, or from it, and keeps the SHA-256 of all."""

    def __init__(self, file: Any) -> None:  # noqa: ANN401 - to read or to write
        super().__init__()
        self._file = file
        self.sha256 = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        body: bytes = self._file.read(size)
        self.sha256.update(body)
        return body

    def write(self, data: bytes) -> int:  # type: ignore[override]
        """Write all of it.

        Raises:
            BackupError: there is no room for it.
        """
        try:
            self._file.write(data)
        except OSError as error:
            raise BackupError(
                f"The backup cannot be written ({error.strerror}); make room, or choose another "
                "folder."
            ) from error
        self.sha256.update(data)
        return len(data)


class ArchiveWriter:
    """Writes an archive to a file, member by member; `end` makes it whole."""

    def __init__(self, file: IO[bytes]) -> None:
        self._all = _Hashed(file)
        packer = zstandard.ZstdCompressor(level=6, write_checksum=True)
        self._packed = packer.stream_writer(self._all, closefd=False)  # type: ignore[arg-type]
        self._tar = tarfile.open(  # noqa: SIM115 - closed by `end`; a file cut short is no archive
            fileobj=self._packed, mode="w|", format=tarfile.GNU_FORMAT
        )
        self._contents: Contents = {}

    def add(self, name: str, body: bytes) -> None:
        """Add a member from memory."""
        self.add_file(name, io.BytesIO(body), len(body))

    def add_file(self, name: str, file: IO[bytes], size: int) -> str:
        """Add a member of so many bytes; returns its SHA-256.

        Raises:
            BackupError: the file ends before.
        """
        entry = tarfile.TarInfo(name)
        entry.size, entry.mode = size, 0o600
        source = _Hashed(file)
        try:
            self._tar.addfile(entry, source)
        except OSError as error:
            if error.errno is None:
                raise BackupError(f"{name} became shorter while it was read; try again.") from error
            raise
        digest = source.sha256.hexdigest()
        self._contents[name] = {"bytes": size, "sha256": digest}
        return digest

    def end(self) -> str:
        """Write the list of contents; returns the SHA-256 of the whole file."""
        self.add(CONTENTS, orjson.dumps(self._contents, option=orjson.OPT_INDENT_2))
        self._tar.close()
        self._packed.close()  # type: ignore[no-untyped-call]
        return self._all.sha256.hexdigest()


class Member:
    """A member that is being read; `name` is one that a backup may hold."""

    def __init__(self, name: str, size: int, file: IO[bytes], archive: Path) -> None:
        self.name = name
        self.size = size
        self._file = file
        self._archive = archive
        self._sha256 = hashlib.sha256()
        self._left = size

    def pieces(self) -> Iterator[bytes]:
        """Its bytes, once, in pieces.

        Raises:
            BackupError: the archive is damaged here, or ends before the member's size.
        """
        while self._left:
            with _translated(self._archive):
                body = self._file.read(min(PIECE, self._left))
                if not body:
                    raise EOFError
            self._left -= len(body)
            self._sha256.update(body)
            yield body

    def read(self, most: int) -> bytes:
        """Its bytes, which are in memory then.

        Raises:
            BackupError: there are more than `most`.
        """
        if self.size > most:
            raise BackupError(f"{self.name} in the backup is too large.")
        return b"".join(self.pieces())

    def digest(self) -> str:
        """The SHA-256 of all its bytes; reads those that were not read."""
        for _ in self.pieces():
            pass
        return self._sha256.hexdigest()


class _Unpacked(io.RawIOBase):
    """Reads what a file of one frame holds."""

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__()
        self._file = file
        unpacker = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW)
        self._unpacker = unpacker.decompressobj()
        self._ready = bytearray()

    def read(self, size: int) -> bytes:  # type: ignore[override]
        """So many bytes, or all that are left.

        Raises:
            EOFError: the file was cut short.
            ZstdError: it is no frame, or damaged.
        """
        while len(self._ready) < size and not self._unpacker.eof:
            piece = self._file.read(PACKED_PIECE)
            if not piece:
                raise EOFError
            self._ready += self._unpacker.decompress(piece)
        body = bytes(self._ready[:size])
        del self._ready[:size]
        return body

    def end(self) -> None:
        """Check that the frame ends after what else a tar is filled up with, and the file with it.

        Raises:
            ValueError: it goes on.
        """
        rest = self.read(PIECE)
        after = self._unpacker.unused_data + self._file.read(PACKED_PIECE)
        if len(rest) == PIECE or not SKIPPED.fullmatch(after):
            raise ValueError


class _Entry(tarfile.TarInfo):
    """A header of a regular file under a known name: nothing else is even looked into."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        """The header in a block."""
        entry = super().frombuf(buf, encoding, errors)
        if entry.type != tarfile.REGTYPE or not NAME.fullmatch(entry.name):
            raise BackupError(f"The backup holds {entry.name!r}, which no backup has.")
        return entry


class ArchiveReader:
    """Reads an archive. The file stays open, so that what was checked is what is read later."""

    def __init__(self, path: Path) -> None:
        """Open a file.

        Raises:
            BackupError: it cannot be read.
        """
        self.path = path
        try:
            self._file = path.open("rb")
            self.bytes = os.fstat(self._file.fileno()).st_size
        except OSError as error:
            raise BackupError(f"{path} cannot be read ({error.strerror}).") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def members(self, progress: Progress = silent) -> Iterator[Member]:
        """Every member in its order. At the end each was compared with the list of contents, and
        nothing follows it.

        Raises:
            BackupError: the file is no archive, is damaged, was cut short or continued; a member is
                missing, doubled, changed, or is none that a backup holds.
        """
        seen: Contents = {}
        with _translated(self.path):
            self._file.seek(0)
            stream = _Unpacked(self._file)
            with tarfile.open(fileobj=stream, mode="r|", tarinfo=_Entry, bufsize=PIECE) as tar:
                for entry in tar:
                    file = tar.extractfile(entry)
                    if file is None or entry.name in seen or len(seen) >= MAX_MEMBERS:
                        raise BackupError(f"{self.path} holds {entry.name!r} twice, or too much.")
                    member = Member(entry.name, entry.size, file, self.path)
                    if entry.name == CONTENTS:
                        self._compare(member.read(MAX_LISTED * (len(seen) + 1)), seen)
                        break
                    yield member
                    seen[member.name] = {"bytes": member.size, "sha256": member.digest()}
                    progress("checking", self._file.tell(), self.bytes)
                else:
                    raise BackupError(f"{self.path} does not list its contents.")
                stream.end()

    def _compare(self, listed: bytes, seen: Contents) -> None:
        try:
            same = orjson.loads(listed) == seen
        except orjson.JSONDecodeError:
            same = False
        if not same:
            raise BackupError(f"{self.path} does not hold what it lists.")


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    """Turn the errors of reading an archive into one of the store."""
    try:
        yield
    except OSError as error:
        raise BackupError(f"{path} cannot be read ({error.strerror}).") from error
    except (tarfile.TarError, zstandard.ZstdError, EOFError, ValueError) as error:
        raise BackupError(
            f"{path} is not a backup, or is damaged or cut short; take another copy of it."
        ) from error
