"""The bucket: bars in an object store, copied into a folder of the run before they are read.

Each request names the tag under which its object was listed, and the list must be the same at the
end, so a night is made of one state of the bars, or of none. What is copied has the names that it
would have in a folder, so the night has the same bytes.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlsplit

from screener.nightly.errors import SourceError
from screener.nightly.pool import in_threads
from screener.nightly.reading.pieces import MAX_PIECES, MAX_TOTAL
from screener.nightly.reading.source import Step
from screener.nightly.tables.names import read_name
from store.errors import ObjectsError
from store.remote.objects import BUCKETS

if TYPE_CHECKING:
    from obstore import Bytes, GetOptions, ObjectMeta
    from obstore.store import ObjectStore

FETCHING: Final = "fetching the bars"

CHUNK: Final = 8 << 20
"""Bytes of one request."""
AT_ONCE: Final = 8
REQUEST: Final = timedelta(seconds=60)
REPEATING: Final = timedelta(seconds=120)
"""No request is repeated later than this after its first try."""
MAX_NAME: Final = 255
"""Bytes of the longest name that file systems take."""


class Listed(NamedTuple):
    """An object of bars as it was listed."""

    key: str
    """Its name in the bucket."""
    size: int
    tag: str | None
    """Its entity tag, which changes with its bytes."""
    modified: float


def is_bucket(bars: str) -> bool:
    """Whether bars are named by an address in an object store."""
    scheme, mark, _ = bars.partition("://")
    return bool(mark) and scheme in BUCKETS


def fetch_bars(url: str, folder: Path, step: Step) -> Path:
    """Copy the bars at an address into a folder: one object, or all that lie below it.

    Returns the path of the copy, which has the last part of the address as its name.

    Raises:
        SourceError: the address is malformed, there are no bars at it, they changed meanwhile, or
            the folder has no room for them.
        ObjectsError: the store does not answer, or refuses the credentials.
    """
    bucket = Bucket.of(url)
    listed = bucket.listed()
    copy = folder / (bucket.key.rpartition("/")[2] or bucket.name)
    _check_room(url, listed, folder)
    files = {copy / below: found for below, found in listed.items()}
    try:
        in_threads(bucket.copy, files.items(), AT_ONCE, partial(step, FETCHING))
    except OSError as error:
        raise SourceError(
            f"{url} cannot be copied to this disk ({error.strerror}); make room there."
        ) from error
    if bucket.listed() != listed:
        raise bucket.changed()
    return copy


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket or container, and the place in it at which the bars are."""

    url: str
    name: str
    key: str
    store: ObjectStore

    @classmethod
    def of(cls, url: str) -> Bucket:
        """The bucket of an address; nothing is asked for yet.

        Raises:
            SourceError: the address is malformed, or the package for it is missing.
            ObjectsError: the environment lacks what it needs.
        """
        parts = urlsplit(url)
        name, key = parts.netloc, url.partition("://")[2].partition("/")[2].strip("/")
        if not name or "@" in name:
            raise SourceError(
                f"{parts.scheme}:// needs a bucket and the place of the bars in it, as in "
                "s3://BUCKET/bars; put credentials into the provider's own variables."
            )
        if find_spec("obstore") is None:
            raise SourceError(f"{url} needs obstore; pip install 'pattern-screener[objects]'.")
        from store.remote.objects import connect

        root = f"{parts.scheme}://{name}"
        store = connect(root, request=REQUEST, repeating=REPEATING)
        return cls(url, name, key, store)

    def listed(self) -> Mapping[str, Listed]:
        """The objects of bars by their names below the address; one at the address itself is "".

        Raises:
            SourceError: there are none, or too many.
        """
        import obstore

        with self._told():
            if self.key and (alone := self._alone()):
                return {"": alone}  # as the name below a path it is the path itself
            found: dict[str, Listed] = {}
            for some in obstore.list(self.store, prefix=self.key or None):
                for meta in some:
                    if below := self._below(meta["path"]):
                        found[below] = _listed(meta)
                if len(found) > MAX_PIECES:
                    raise SourceError(f"{self.url} holds more than {MAX_PIECES:,} objects.")
        if not found:
            raise SourceError(f"{self.url} has no CSV or Parquet file; put one per symbol there.")
        return dict(sorted(found.items()))

    def copy(self, target: tuple[Path, Listed]) -> None:
        """Write an object into a new file.

        Raises:
            SourceError: the object is no longer the one that was listed, or its name is that of a
                folder of others.
        """
        path, found = target
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = path.open("xb")
        except (FileExistsError, NotADirectoryError) as error:
            raise SourceError(
                f"{self.url} has an object whose name no file can have beside the others; rename "
                f"{found.key}."
            ) from error
        with file:
            for start in range(0, found.size, CHUNK):
                file.write(self._read(found, start))

    def _read(self, found: Listed, start: int) -> Bytes:
        import obstore

        options: GetOptions = {"range": (start, min(start + CHUNK, found.size))}
        if found.tag is not None:
            options["if_match"] = found.tag
        with self._told():
            got = obstore.get(self.store, found.key, options=options)
            if _listed(got.meta) != found:
                raise self.changed()
            return got.bytes()

    def changed(self) -> SourceError:
        """The error that the bars are no longer those that were listed."""
        return SourceError(
            f"{self.url} changed while it was being read; run it again when nothing writes there."
        )

    def _alone(self) -> Listed | None:
        import obstore

        try:
            found = _listed(obstore.head(self.store, self.key))
        except FileNotFoundError:
            return None
        return found if found.size else None  # consoles mark folders by an empty object

    def _below(self, key: str) -> str | None:
        """The name below the address of an object that is read as bars."""
        below = key[len(self.key) :].strip("/")
        parts = below.split("/")
        if any(part.startswith(".") for part in parts) or read_name(parts[-1]) is None:
            return None
        plain = all(part and len(os.fsencode(part)) <= MAX_NAME for part in parts)
        if not plain or "\0" in below or "\\" in below:
            raise SourceError(f"{self.url} has an object whose name no file may have; rename it.")
        return below

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Turn every error of obstore into a sentence. Its own text may hold a signed address."""
        from obstore.exceptions import (
            BaseError,
            PermissionDeniedError,
            PreconditionError,
            UnauthenticatedError,
        )

        try:
            yield
        except PreconditionError as error:
            raise self.changed() from error
        except FileNotFoundError as error:
            raise SourceError(f"There are no bars at {self.url}, or they are gone.") from error
        except (PermissionDeniedError, UnauthenticatedError) as error:
            raise ObjectsError(
                f"{self.url} refuses these credentials; they must be able to list and to read it."
            ) from error
        except (BaseError, ValueError) as error:
            if "NoSuchBucket" in str(error):
                raise SourceError(f"There are no bars at {self.url}: no such bucket.") from error
            raise ObjectsError(f"{self.url} does not answer; run it again when it does.") from error


def _listed(meta: ObjectMeta) -> Listed:
    # Answers to single requests tell whole seconds.
    return Listed(meta["path"], meta["size"], meta["e_tag"], meta["last_modified"].timestamp() // 1)


def _check_room(url: str, listed: Mapping[str, Listed], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    total, free = sum(found.size for found in listed.values()), shutil.disk_usage(folder).free
    if total > MAX_TOTAL:
        raise SourceError(f"{url} holds more than {MAX_TOTAL >> 30} GiB; split it.")
    if total > free:
        raise SourceError(
            f"{url} holds {total >> 20:,} MiB, but the disk of {folder} has room for "
            f"{free >> 20:,}; make room there."
        )
