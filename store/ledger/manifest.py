"""The manifest: the small file that names a sealed night and proves that its book is unchanged.

A night is two files under `nights/`: `VERSION.book` and `VERSION.json`, its manifest. The file
`manifest.json` in the data folder is a copy of the active night's manifest; replacing it publishes.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import re
from pathlib import Path
from typing import Annotated

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from store.errors import ManifestError
from store.folder.files import digest_file, private_file

SCHEMA_VERSION = 1
"""The version of the book schema that this program writes."""

MIN_SCHEMA = 1
"""The oldest version that it reads. Within 1.x every version from this one on stays readable, so
that no upgrade leaves a service without a night. What a later program adds is no new version:
readers find out that an older book lacks it. A version is new if older readers would misread it.
"""

SAMPLE = "sample"
"""The name of the source that comes with the program."""

VERSION_PATTERN = re.compile(r"^\d{8}-[0-9a-f]{12}$")


class BookFile(BaseModel):
    """A book's file name, digest and size."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    file: Annotated[str, Field(pattern=r"^\d{8}-[0-9a-f]{12}\.book$")]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    bytes: Annotated[int, Field(gt=0)]


class Counts(BaseModel):
    """How much a night holds. Publishing compares these counts with those of the last night."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    known: int
    covered: int
    setups: int
    history: int
    resolved: int


class Inputs(BaseModel):
    """The inputs of a night, which together with the session determine its data version.

    `bars` is the name of the source: `sample`, or the name of the file or folder without its path.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    bars: str
    bars_sha256: str
    reference_sha256: str | None
    parameters: dict[str, float | int | str | bool | None]
    code_version: str
    since: str | None = None
    """The night that this one is compared with: the last one of an earlier session."""


class Manifest(BaseModel):
    """The description of one sealed night."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    data_version: Annotated[str, Field(pattern=VERSION_PATTERN.pattern)]
    as_of_session: dt.date
    source: str
    disclaimer: str
    schema_version: int
    book: BookFile
    counts: Counts
    inputs: Inputs
    next_session: dt.date | None = None
    """The next session that a night is due for; None in nights sealed before this was."""

    @property
    def sample(self) -> bool:
        """Whether the night was made of the bars that come with the program."""
        return self.inputs.bars == SAMPLE

    def encode(self) -> bytes:
        """The manifest as indented JSON, keys in a fixed order."""
        return orjson.dumps(self.model_dump(mode="json"), option=orjson.OPT_INDENT_2) + b"\n"


def derive_version(session: dt.date, source: str, disclaimer: str, inputs: Inputs) -> str:
    """The data version: the session and a digest of everything that shapes an answer."""
    shaped = [session.isoformat(), SCHEMA_VERSION, source, disclaimer, inputs.model_dump()]
    digest = hashlib.sha256(orjson.dumps(shaped, option=orjson.OPT_SORT_KEYS)).hexdigest()
    return f"{session:%Y%m%d}-{digest[:12]}"


def read_manifest(path: Path) -> Manifest:
    """Read and check a manifest file.

    Raises:
        ManifestError: the file is missing, unreadable, malformed, or names another schema.
    """
    try:
        manifest = Manifest.model_validate_json(path.read_bytes())
    except FileNotFoundError as error:
        raise ManifestError(f"{path} does not exist; run `screener nightly` first.") from error
    except OSError as error:
        raise ManifestError(f"{path} cannot be read: {error.strerror}.") from error
    except ValidationError as error:
        check_readable(_schema_of(path), str(path))
        raise ManifestError(
            f"{path} is not a manifest; activate another night with `screener night activate`."
        ) from error
    check_readable(manifest.schema_version, str(path))
    return manifest


def check_readable(version: int, what: str) -> None:
    """Check that this program reads books of a schema version.

    Raises:
        ManifestError: it is a newer one, or one that has not been read for long.
    """
    if version > SCHEMA_VERSION:
        raise ManifestError(
            f"{what} comes from a newer version of this program (schema {version}, this one reads "
            f"up to {SCHEMA_VERSION}); run that version, or choose an older night of `screener "
            "night list` with `screener night activate`."
        )
    if version < MIN_SCHEMA:
        raise ManifestError(
            f"{what} is too old (schema {version}, the oldest that is read is {MIN_SCHEMA}); "
            "run `screener nightly` to make it anew."
        )


def _schema_of(path: Path) -> int:
    """The schema version that a file names, which may be no manifest that this program knows."""
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
        return int(orjson.loads(path.read_bytes())["schema_version"])
    return SCHEMA_VERSION


def verify_book(directory: Path, manifest: Manifest) -> Path:
    """The path of the manifest's book, after checking its size and digest.

    Raises:
        ManifestError: the book is missing, or it or the manifest is not what was sealed.
    """
    _check_sealed(directory, manifest)
    path = directory / manifest.book.file
    try:
        stamp = _stamp(path)
        same = path.stat().st_size == manifest.book.bytes
        same = same and digest_file(path) == manifest.book.sha256
    except OSError as error:
        raise ManifestError(f"The book {path} cannot be read: {error.strerror}.") from error
    if not same:
        with contextlib.suppress(OSError):  # nobody trusts an earlier check of it any more
            stamp_path(directory, manifest).unlink(missing_ok=True)
        raise ManifestError(
            f"The book {path} is not the one that was sealed; activate another night with "
            "`screener night activate` or run `screener nightly` again."
        )
    # The stamp cannot be written to a read-only folder; its books are then hashed each time.
    with contextlib.suppress(OSError):
        private_file(stamp_path(directory, manifest)).write_text(f"{manifest.book.sha256} {stamp}")
    return path


def known_book(directory: Path, manifest: Manifest) -> Path:
    """The path of the manifest's book, hashed only if the file changed since it was last verified.

    Raises:
        ManifestError: as for `verify_book`.
    """
    _check_sealed(directory, manifest)
    path = directory / manifest.book.file
    try:
        known = stamp_path(directory, manifest).read_bytes()
        if known == f"{manifest.book.sha256} {_stamp(path)}".encode():
            return path
    except OSError:
        pass
    return verify_book(directory, manifest)


def _check_sealed(directory: Path, manifest: Manifest) -> None:
    """Compare a manifest with the one beside its book, where that is: neither has a digest."""
    path = directory / f"{manifest.data_version}.json"
    if path.exists() and read_manifest(path) != manifest:
        raise ManifestError(
            f"The active manifest is not the one that was sealed, {path}; activate the night again "
            "with `screener night activate`."
        )


def stamp_path(directory: Path, manifest: Manifest) -> Path:
    """The file that records which file was verified as the manifest's book."""
    return directory / f".{manifest.data_version}.verified"


def _stamp(path: Path) -> str:
    status = path.stat()
    return f"{status.st_dev} {status.st_ino} {status.st_size} {status.st_mtime_ns}"
