"""Pieces: the single files of bars in a folder or a zip, and their bytes.

An archive may be hostile. The name of a member is never used as a path to write to, and no piece
may unpack to more than a fixed size.
"""

from __future__ import annotations

import gzip
import io
import os
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from nightly.errors import SourceError
from nightly.sources.files import magic
from nightly.sources.names import read_name

MAX_BYTES: Final = 64 << 20
"""The largest piece. A symbol's daily bars since 1900 are 3 MB of text."""
MAX_TOTAL: Final = 64 << 30
MAX_PIECES: Final = 2_000_000

# zipfile raises RuntimeError for encrypted members, NotImplementedError for unknown compressions.
_BROKEN = (OSError, EOFError, zlib.error, zipfile.BadZipFile, NotImplementedError, RuntimeError)


@dataclass(frozen=True, slots=True, order=True)
class Piece:
    """One file of bars, on disk or as a member of a zip."""

    path: Path
    member: str | None = None

    @property
    def label(self) -> str:
        """Its name for people. Bytes that are not text are replaced so that reports can show it."""
        name = self.member or self.path.name
        return os.fsencode(name).decode("utf-8", "replace")


def pieces_of(path: Path) -> list[Piece]:
    """Every piece under a folder or in a zip, sorted by name.

    Raises:
        SourceError: the path cannot be read, or holds too many files or bytes.
    """
    found: list[Piece] = []
    for piece in _walk(path) if path.is_dir() else _of_file(path):
        found.append(piece)
        if len(found) > MAX_PIECES:
            raise SourceError(f"{path} holds more than {MAX_PIECES:,} files; split it.")
    return sorted(found)


def _walk(folder: Path) -> Iterator[Piece]:
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in files:
            if read_name(name):
                yield from _of_file(Path(root, name))


def _of_file(path: Path) -> Iterator[Piece]:
    """The file itself, or the members of a zip, unless the zip's name describes its one member."""
    name = read_name(path.name)
    packed = name is not None and name.suffix == ".zip"
    if not packed or (name and name.period):
        yield Piece(path)
        return
    try:
        with zipfile.ZipFile(path) as archive:
            members = [info for info in archive.infolist() if _counts(info)]
    except _BROKEN as error:
        raise SourceError(f"{path} is not a readable zip file; fetch it again.") from error
    if sum(info.file_size for info in members) > MAX_TOTAL:
        raise SourceError(f"{path} unpacks to more than {MAX_TOTAL >> 30} GiB; it is refused.")
    yield from (Piece(path, info.filename) for info in members)


def _counts(info: zipfile.ZipInfo) -> bool:
    name = read_name(info.filename)
    foreign = info.filename.startswith("__MACOSX/")
    return not (info.is_dir() or foreign or name is None or name.suffix == ".zip")


class Shelf:
    """Reads pieces one after the other, and keeps the last opened zip open."""

    def __init__(self) -> None:
        self._path: Path | None = None
        self._archive: zipfile.ZipFile | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._archive is not None:
            self._archive.close()

    def read(self, piece: Piece, most: int = MAX_BYTES) -> bytes:
        """The unpacked bytes of a piece, at most `most`.

        Raises:
            SourceError: the piece cannot be read, is encrypted, or is larger.
        """
        try:
            data = self._member(piece, most) if piece.member else self._file(piece.path, most)
            if magic(data[:8]) == "gzip":
                data = gzip.GzipFile(fileobj=io.BytesIO(data)).read(most + 1)
        except _BROKEN as error:
            detail = str(error) if isinstance(error, RuntimeError) else type(error).__name__
            raise SourceError(f"{piece.label} cannot be read ({detail}).") from error
        if len(data) > most:
            raise SourceError(f"{piece.label} is larger than {most >> 20} MiB unpacked.")
        return data

    def _member(self, piece: Piece, most: int) -> bytes:
        archive = self._open(piece.path)
        with archive.open(piece.member or archive.namelist()[0]) as stream:
            return stream.read(most + 1)

    def _file(self, path: Path, most: int) -> bytes:
        with path.open("rb") as stream:
            packed = magic(stream.read(512)) == "zip"
            stream.seek(0)
            if not packed:
                return stream.read(most + 1)
        names = [info.filename for info in self._open(path).infolist() if not info.is_dir()]
        if len(names) != 1:
            raise SourceError(f"{path.name} holds {len(names)} files instead of one.")
        return self._member(Piece(path, names[0]), most)

    def _open(self, path: Path) -> zipfile.ZipFile:
        if self._archive is None or self._path != path:
            if self._archive is not None:
                self._archive.close()
                self._archive = None
            self._archive, self._path = zipfile.ZipFile(path), path
        return self._archive
