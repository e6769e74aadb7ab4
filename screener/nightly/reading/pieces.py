"""Pieces: the single files of bars in a folder or a zip, and their bytes.

What cannot be opened is a piece too, with its trouble, so that it is named and stops no other. An
archive may be hostile. The name of a member is never used as a path to write to, and no piece may
unpack to more than a fixed size. A link in a folder may be a stranger's, so it leads nowhere else.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path
from typing import Any, Final

import zstandard

from screener.nightly.errors import SourceError
from screener.nightly.reading.files import magic, open_regular, trouble
from screener.nightly.tables.names import UNREAD, read_name

MAX_BYTES: Final = 64 << 20
"""The largest piece. A symbol's daily bars since 1900 are 3 MB of text."""
UNPACKED: Final[Mapping[str | None, Any]] = {
    "gzip": gzip.open,
    "xz": lzma.open,
    "bzip2": bz2.open,
    "zstandard": zstandard.open,
}
"""How single files are unpacked, by what they are."""
MAX_TOTAL: Final = 64 << 30
MAX_PIECES: Final = 2_000_000

_NOT_READ: Final = "is of a form that is not read; write its bars as CSV or Parquet"
_OUT: Final = "is a link that leads out of the folder; put what it leads to in its place"

_BROKEN = (
    OSError,
    EOFError,
    zlib.error,
    lzma.LZMAError,
    zstandard.ZstdError,
    zipfile.BadZipFile,
    RuntimeError,  # by zipfile, for encrypted members and unknown compressions
    ValueError,  # by zipfile, for impossible offsets
)
"""What a damaged or foreign file raises when it is opened; it is left out and named."""


@dataclass(frozen=True, slots=True, order=True)
class Piece:
    """One file of bars, on disk or as a member of a zip."""

    path: Path
    member: str | None = None
    below: str = field(default="", compare=False)
    """The path of the file below the folder that was given; its own name if it was given itself."""
    trouble: str = field(default="", compare=False)
    """Why it cannot be read and what to do, to be read after its label; empty if it can be."""

    @property
    def label(self) -> str:
        """Its name for people. Bytes that are not text are replaced so that reports can show it."""
        above = f"{self.below}/" if self.below and self.member else self.below
        name = above + (self.member or "") or self.path.name
        return os.fsencode(name).decode("utf-8", "replace")


def pieces_of(path: Path) -> list[Piece]:
    """Every piece under a folder or in a zip, or the one file, sorted by name.

    Raises:
        SourceError: there are too many of them.
    """
    found: list[Piece] = []
    for piece in _walk(path) if path.is_dir() else _of_file(path, ""):
        found.append(piece)
        if len(found) > MAX_PIECES:
            raise SourceError(f"{path} holds more than {MAX_PIECES:,} files; split it.")
    return sorted(found)


def _walk(top: Path) -> Iterator[Piece]:
    """The pieces below a folder, following links within it; each folder is entered once."""
    home, entered = os.path.realpath(top), set[str]()
    unread: list[OSError] = []
    for folder, folders, files in os.walk(top, onerror=unread.append, followlinks=True):
        here, real = Path(folder), os.path.realpath(folder)
        visible = sorted(name for name in (*folders, *files) if not name.startswith("."))
        inner, folders[:] = {*folders}, []
        if real in entered:
            again = "is a link to a folder that has already been read"
            yield Piece(here, None, _below(top, here), again)
            continue
        entered.add(real)
        for path in (here / name for name in visible):
            if path.name not in inner and not read_name(path.name):
                if path.suffix.lower() in UNREAD:
                    yield Piece(path, None, _below(top, path), _NOT_READ)
            elif _leads_out(path, home):
                yield Piece(path, None, _below(top, path), _OUT)
            elif path.name in inner:
                folders.append(path.name)
            else:
                yield from _of_file(path, _below(top, path))
        if not visible and read_name(here.name):
            yield Piece(
                here, None, _below(top, here), "is an empty folder and not a file; remove it"
            )
    for error in unread:
        path = Path(error.filename)
        yield Piece(path, None, _below(top, path) or path.name, trouble(path, error))


def _below(top: Path, path: Path) -> str:
    """The path of a file below the folder that was given; empty for the folder itself."""
    return "" if path == top else path.relative_to(top).as_posix()


def _leads_out(path: Path, home: str) -> bool:
    """Whether a path is a link that leads out of a folder, whose real path is given."""
    return path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(home)


def _of_file(path: Path, below: str) -> Iterator[Piece]:
    """The file itself, or the members of a zip, unless the zip's name describes its one member."""
    name = read_name(path.name)
    packed = name is not None and name.suffix == ".zip"
    if not packed or (name and "-" in name.period):
        yield Piece(path, None, below)
        return
    try:
        with open_regular(path, "") as stream, zipfile.ZipFile(stream) as archive:
            members = [info for info in archive.infolist() if _counts(info)]
    except SourceError as error:
        yield Piece(path, None, below, str(error).strip().removesuffix("."))
        return
    except _BROKEN:
        yield Piece(path, None, below, "is not a readable zip file; fetch it again")
        return
    if sum(info.file_size for info in members) > MAX_TOTAL:
        yield Piece(path, None, below, f"unpacks to more than {MAX_TOTAL >> 30} GiB; split it")
        return
    for info in members:
        nested = info.filename.lower().endswith(".zip")
        yield Piece(
            path, info.filename, below, "is a zip inside a zip; unpack the outer one" * nested
        )


def _counts(info: zipfile.ZipInfo) -> bool:
    foreign = info.filename.startswith("__MACOSX/")
    return not (info.is_dir() or foreign or read_name(info.filename) is None)


class PieceReader:
    """Reads pieces one after the other, and keeps the last opened zip open."""

    def __init__(self) -> None:
        self._path: Path | None = None
        self._stream: BufferedReader | None = None
        self._archive: zipfile.ZipFile | None = None

    def read(self, piece: Piece, most: int = MAX_BYTES) -> bytes:
        """The unpacked bytes of a piece, at most `most`.

        Raises:
            SourceError: the piece cannot be read, is encrypted, empty, or larger.
        """
        if piece.trouble:
            raise SourceError(f"{piece.label} {piece.trouble}.")
        try:
            data = self._member(piece, most) if piece.member else self._file(piece, most)
            if (kind := magic(data[:8])) in UNPACKED:
                with UNPACKED[kind](io.BytesIO(data)) as unpacked:
                    data = unpacked.read(most + 1)
        except _BROKEN as error:
            detail = str(error) if isinstance(error, RuntimeError) else type(error).__name__
            raise SourceError(f"{piece.label} cannot be read ({detail}).") from error
        if len(data) > most:
            raise SourceError(f"{piece.label} is larger than {most >> 20} MiB unpacked.")
        if not data:
            raise SourceError(f"{piece.label} is empty; fetch it again.")
        return data

    def _member(self, piece: Piece, most: int) -> bytes:
        archive = self._open(piece)
        with archive.open(piece.member or archive.namelist()[0]) as stream:
            return stream.read(most + 1)

    def _file(self, piece: Piece, most: int) -> bytes:
        with open_regular(piece.path, piece.label) as stream:
            packed = magic(stream.read(512)) == "zip"
            stream.seek(0)
            if not packed:
                return stream.read(most + 1)
        names = [info.filename for info in self._open(piece).infolist() if not info.is_dir()]
        if len(names) != 1:
            raise SourceError(f"{piece.label} holds {len(names)} files instead of one; unpack it.")
        return self._member(Piece(piece.path, names[0], piece.below), most)

    def _open(self, piece: Piece) -> zipfile.ZipFile:
        if self._archive is None or self._path != piece.path:
            self.close()
            self._stream = open_regular(piece.path, piece.label)
            self._archive, self._path = zipfile.ZipFile(self._stream), piece.path
        return self._archive

    def close(self) -> None:
        """Close the zip that is open, if one is."""
        for opened in (self._archive, self._stream):
            if opened is not None:
                opened.close()
        self._archive = self._stream = self._path = None
