"""Objects: whole files in a store that several machines share, a bucket or a folder.

A name is a path of plain parts, such as `nights/20240308-0123456789ab.book`. An object is replaced
whole or not at all. Its tag changes with its bytes, and `swap` is how one of several writers wins.
All methods wait for a network: call them in a thread. obstore reads the credentials of the
environment in the way of each provider's own tools, or of the machine.
"""

from __future__ import annotations

import datetime as dt
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import unquote, urlsplit

from filelock import FileLock, Timeout

from store.errors import ConflictError, ObjectsError
from store.folder.files import DRAFT, digest_of, replace_file, sync_directory

if TYPE_CHECKING:
    from obstore import GetOptions, ObjectMeta, PutMode, PutResult, UpdateVersion
    from obstore.store import ClientConfig, ObjectStore, RetryConfig

BUCKETS: Final = ("s3", "gs", "az")

NIGHTS: Final = "SCREENER_NIGHTS_URL"

NAME: Final = re.compile(
    r"(?:[A-Za-z0-9_][A-Za-z0-9._-]{0,199})(?:/[A-Za-z0-9_][A-Za-z0-9._-]{0,199}){0,7}"
)

CONNECT: Final = timedelta(seconds=5)
REQUEST: Final = timedelta(seconds=30)
"""For one request with its body, which is a piece of a large object."""

REPEATS: Final = 4
"""How often a request is repeated after a lost connection or a server's error."""

REPEATING: Final = timedelta(seconds=60)
"""No request is repeated later than this after its first try."""

PIECE: Final = 8 * 2**20
"""Bytes of a large object in one request."""

AT_ONCE: Final = 4
"""Pieces that are sent at the same time."""

MAX_SWAPPED: Final = 16 * 2**20
"""Bytes of an object that is replaced, at most."""

LOCK: Final = ".swap.lock"
"""The file of a folder under whose lock an object is compared and replaced."""

LOCK_SECONDS: Final = 30.0
"""Seconds to wait for the lock, which is held for one comparison and one rename."""

FILE: Final = 0o640
FOLDER: Final = 0o750
"""The group may read: servers of another user than the nightly's are in its group."""

ABANDONED: Final = 24 * 3600.0
"""Seconds after which a draft is taken to be of a machine that went away."""

CODE = re.compile(r"<Code>([A-Za-z]{1,40})</Code>")
STATUS = re.compile(r"status code: (\d{3})\b")
OF_THE_DISK = re.compile(r"\(os error (\d+)\)")
OF_THE_MACHINE = re.compile(r"Error performing [A-Z]+ http://169\.254\.16[0-9.]+/")
"""A request to the service that gives a machine credentials: EC2's, ECS's, EKS's or Azure's."""


class AbsentError(ObjectsError):
    """There is no such object."""


class Object(NamedTuple):
    """The bytes of an object, and the tag that stands for them."""

    body: bytes
    tag: str


class Objects:
    """The objects at an address: s3://, gs://, az://, or file:/// of a folder that must exist, so
    that a share that is not mounted is not taken for an empty store.

    Every method raises ObjectsError if the store does not answer.
    """

    def __init__(
        self,
        url: str,
        setting: str = NIGHTS,
        *,
        request: timedelta = REQUEST,
        repeating: timedelta = REPEATING,
    ) -> None:
        """Open a store without asking for anything in it; errors name the setting that holds the
        address.

        Raises:
            ObjectsError: the address is malformed or of another kind, a package is missing, or the
                environment lacks what it needs.
        """
        self.place = url
        """Where it is, for an operator; without any secret."""
        self._folder = _checked(url, setting)
        if find_spec("obstore") is None:
            raise ObjectsError(
                f"{setting} {url} needs obstore; pip install 'pattern-screener[objects]'."
            )
        if self._folder is None:
            self._bucket = connect(url, request=request, repeating=repeating)

    def read(self, name: str, most: int, known: str | None = None) -> Object | None:
        """An object of at most so many bytes, without its body if its tag is `known`; None if there
        is none. One request says all three.

        Raises:
            ObjectsError: it is larger, too.
        """
        from obstore.exceptions import NotModifiedError

        options: GetOptions = {}
        if e_tag := _version(known or "").get("e_tag"):
            options["if_none_match"] = e_tag
        with suppress(AbsentError), self._asked(name) as store:
            try:
                found = store.get(name, options=options)
            except NotModifiedError:
                return Object(b"", known or "")
            self._check_size(name, found.meta, most)
            body = bytes(found.bytes())
            tag = _tag(found.meta) if self._folder is None else digest_of(body)
            return Object(b"" if tag == known else body, tag)
        return None

    def has(self, name: str) -> bool:
        """Whether there is such an object."""
        with suppress(AbsentError), self._asked(name) as store:
            store.head(name)
            return True
        return False

    def fetch(self, name: str, path: Path, most: int) -> None:
        """Write an object of at most so many bytes, which must be there, into a new file, a piece
        at a time. It may be replaced meanwhile: compare the digest of the whole.
        """
        try:
            with path.open("wb") as file:
                for piece in self._pieces(name, most):
                    file.write(piece)
        except OSError as error:
            raise ObjectsError(f"{path} cannot be written ({error.strerror}).") from error

    def put(self, name: str, body: bytes | Path) -> None:
        """Store an object, in place of one of that name; a path is read a piece at a time."""
        with self._asked(name) as store:
            if self._folder is not None:
                (self._folder / name).parent.mkdir(mode=FOLDER, parents=True, exist_ok=True)
            store.put(name, body, chunk_size=PIECE, max_concurrency=AT_ONCE)
            if self._folder is not None:
                _settle(self._folder / name)

    def swap(self, name: str, body: bytes, tag: str | None) -> str:
        """Replace the object that has this tag, or make the first one where the tag is None;
        returns the new tag. If several writers know the tag, one succeeds.

        Raises:
            ConflictError: it has another tag. If the answer of the store was lost, it is read again
                to find out whose bytes are there, so that a success is never reported as this.
        """
        if self._folder is not None:
            return self._swap_file(self._folder, name, body, tag)
        try:
            with self._asked(name) as store:
                mode: PutMode = "create" if tag is None else _version(tag)
                return _tag(store.put(name, body, mode=mode, use_multipart=False))
        except ObjectsError as error:
            return self._own_tag(name, body, tag, error)

    def names(self, folder: str, before: dt.datetime | None = None) -> Iterator[str]:
        """The names of all objects in a folder and the folders in it, in no order, or of those that
        were put before a moment; what has a name that no object of ours can have is passed over.
        """
        with self._asked(folder) as store:
            for some in store.list(prefix=folder):
                for meta in some:
                    if before is None or meta["last_modified"] < before:
                        yield from filter(NAME.fullmatch, [meta["path"]])

    def remove(self, name: str, before: dt.datetime | None = None) -> None:
        """Remove an object, or only if it was put before a moment; one that is not there is no
        error.
        """
        with suppress(AbsentError), self._asked(name) as store:
            if before is None or store.head(name)["last_modified"] < before:
                store.delete(name)

    def _pieces(self, name: str, most: int) -> Iterator[bytes]:
        with self._asked(name) as store:
            meta = store.head(name)
            self._check_size(name, meta, most)
            for start in range(0, meta["size"], PIECE):
                end = min(start + PIECE, meta["size"])
                yield bytes(store.get_range(name, start=start, end=end))

    def _own_tag(self, name: str, body: bytes, tag: str | None, error: ObjectsError) -> str:
        """The tag of our own bytes, if they are there although the answer said otherwise or none
        came: a repeat of a request that had succeeded is refused, too.
        """
        current = self.read(name, MAX_SWAPPED)
        if current is not None and current.body == body:
            return current.tag
        if (current.tag if current else None) != tag:
            raise self._conflict(name) from error
        raise error

    def _swap_file(self, folder: Path, name: str, body: bytes, tag: str | None) -> str:
        """As `swap`, for a folder: the file is compared and replaced under a lock of it."""
        with self._asked(name):
            try:
                with FileLock(folder / LOCK, timeout=LOCK_SECONDS, mode=FILE):
                    current = self.read(name, MAX_SWAPPED)
                    if (current.tag if current else None) != tag:
                        raise self._conflict(name)
                    _remove_drafts(folder)
                    replace_file(folder / name, body, FILE)
            except Timeout as error:
                raise ObjectsError(
                    f"{self.place} has been locked by another machine for more than "
                    f"{LOCK_SECONDS:.0f} s; check that locks work on the share."
                ) from error
            return digest_of(body)

    def _conflict(self, name: str) -> ConflictError:
        return ConflictError(f"{name} of {self.place} was replaced in the meantime.")

    def _check_size(self, name: str, meta: ObjectMeta, most: int) -> None:
        if meta["size"] > most:
            raise ObjectsError(
                f"{name} of {self.place} is larger than the {most:,} bytes that it may have."
            )

    @contextmanager
    def _asked(self, name: str) -> Iterator[ObjectStore]:
        """The store, to be asked for a name. Every error becomes a sentence: that of obstore may
        hold a signed address.
        """
        from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError

        if not NAME.fullmatch(name):
            raise ObjectsError(f"{name!r} cannot be the name of an object.")
        try:
            yield self._opened()
        except FileNotFoundError as error:
            if "<Code>NoSuchBucket<" in str(error):
                words = f"There is no bucket at {self.place}; create it first."
                raise ObjectsError(words) from error
            raise AbsentError(f"There is no {name} at {self.place}.") from error
        except (AlreadyExistsError, PreconditionError) as error:
            raise self._conflict(name) from error
        except (BaseError, ValueError, OSError) as error:
            describe = _of_bucket if self._folder is None else _of_folder
            raise ObjectsError(describe(self.place, name, error)) from error

    def _opened(self) -> ObjectStore:
        from obstore.store import LocalStore

        if self._folder is None:
            return self._bucket
        if not self._folder.is_dir():
            raise ObjectsError(f"There is no folder at {self.place}; mount the share or make it.")
        return LocalStore(self._folder)


def connect(url: str, *, request: timedelta, repeating: timedelta) -> ObjectStore:
    """The bucket or container at an address, as obstore opens it. One request waits for `request`,
    all repeats of it together for `repeating`; nothing is asked for yet.

    Raises:
        ObjectsError: the address is malformed, or the environment lacks what it needs.
    """
    from obstore.exceptions import BaseError
    from obstore.store import from_url

    # These replace what obstore reads of the environment by itself, hence this one variable.
    plain = os.environ.get("AWS_ALLOW_HTTP", "").lower() in {"1", "true"}
    client: ClientConfig = {"connect_timeout": CONNECT, "timeout": request, "allow_http": plain}
    retry: RetryConfig = {"max_retries": REPEATS, "retry_timeout": repeating}
    try:
        return from_url(url, client_options=client, retry_config=retry)
    except (BaseError, ValueError) as error:
        raise ObjectsError(
            f"{url} cannot be opened; write s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or "
            "az://CONTAINER/PREFIX, and set the variables of the provider "
            "(docs/several-machines.md)."
        ) from error


def _checked(url: str, setting: str) -> Path | None:
    """The folder that an address names; None if it names a bucket."""
    parts = urlsplit(url)
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ObjectsError(
            f"{setting} must name only a place; credentials belong in the variables of the "
            "provider (docs/several-machines.md)."
        )
    if parts.scheme == "file":
        if parts.netloc not in {"", "localhost"} or not parts.path.startswith("/"):
            raise ObjectsError(
                f"{setting} {url} names a host; write file:///SHARED/FOLDER, three slashes."
            )
        return Path(unquote(parts.path))
    if parts.scheme not in BUCKETS or not parts.netloc:
        raise ObjectsError(
            f"{setting} {url} is not a place for objects; write s3://BUCKET/PREFIX, "
            "gs://BUCKET/PREFIX, az://CONTAINER/PREFIX or file:///SHARED/FOLDER."
        )
    return None


def _settle(path: Path) -> None:
    """Let the group of a new file read it, and make it durable."""
    path.chmod(FILE)
    with path.open("rb") as file:
        os.fsync(file.fileno())
    sync_directory(path.parent)


def _remove_drafts(folder: Path) -> None:
    """Remove what writers that were killed left: ours, and those of obstore."""
    for pattern in (f".*{DRAFT}", "*#[0-9]*"):
        for draft in folder.rglob(pattern):
            with suppress(FileNotFoundError):  # it has its name by now
                if time.time() - draft.stat().st_mtime > ABANDONED:
                    draft.unlink()


def _of_bucket(place: str, name: str, error: Exception) -> str:
    """What may be said of an error of a bucket: the status and the code of its answer."""
    from obstore.exceptions import PermissionDeniedError, UnauthenticatedError

    found = [match[1] for match in (STATUS.search(str(error)), CODE.search(str(error))) if match]
    why = f" ({', '.join(found)})" if found else ""
    if isinstance(error, PermissionDeniedError | UnauthenticatedError):
        return (
            f"{place} refuses these credentials for {name}{why}; docs/several-machines.md "
            "lists the rights that are needed."
        )
    if "BadScheme" in str(error):
        return (
            f"{place} is at an http address, which would expose what is sent; set "
            "AWS_ALLOW_HTTP=true if the network is your own."
        )
    if OF_THE_MACHINE.search(str(error)):
        return (
            f"There are no credentials for {place}: neither the environment nor this machine has "
            "any; docs/several-machines.md names the variables."
        )
    return (
        f"{place} does not answer for {name}{why}; check that it runs, and check the address in "
        "the provider's variables (docs/several-machines.md)."
    )


def _of_folder(place: str, name: str, error: Exception) -> str:
    number = error.errno if isinstance(error, OSError) else None
    if number is None and (found := OF_THE_DISK.search(str(error))):
        number = int(found[1])
    why = f" ({os.strerror(number)})" if number else ""
    return (
        f"{place} cannot be used for {name}{why}; its user must be able to read it, and the "
        "nightly's to write it."
    )


def _tag(meta: ObjectMeta | PutResult) -> str:
    """S3 and Azure compare the entity tag, Google the version, which has no space in it."""
    return f"{meta['version'] or ''} {meta['e_tag'] or ''}"


def _version(tag: str) -> UpdateVersion:
    version, _, e_tag = tag.partition(" ")
    found: UpdateVersion = {}
    if version:
        found["version"] = version
    if e_tag:
        found["e_tag"] = e_tag
    return found
