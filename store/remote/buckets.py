"""Bucket: objects in S3 and what speaks its protocol, in Google Cloud Storage, or in Azure.

Credentials come from the environment in the way of each provider's own tools, or from the machine;
obstore reads them. Waits are bounded: each request, and all its repeats together.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

import obstore
from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    NotModifiedError,
    PermissionDeniedError,
    PreconditionError,
    UnauthenticatedError,
)
from obstore.store import from_url

from store.errors import ConflictError, ObjectsError
from store.remote.objects import NAME, Object, checked_name

if TYPE_CHECKING:
    from obstore import GetOptions, ObjectMeta, PutMode, PutResult, UpdateVersion
    from obstore.store import ClientConfig, ObjectStore, RetryConfig

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

MOST_SWAPPED: Final = 16 * 2**20
"""Bytes of an object that is replaced, at most."""

CODE = re.compile(r"<Code>([A-Za-z]{1,40})</Code>")
STATUS = re.compile(r"status code: (\d{3})\b")
OF_THE_MACHINE = re.compile(r"Error performing [A-Z]+ http://169\.254\.16[0-9.]+/")
"""A request to the service that gives a machine credentials: EC2's, ECS's, EKS's or Azure's."""

REFUSED = (PermissionDeniedError, UnauthenticatedError)


def connect(url: str, *, request: timedelta, repeating: timedelta) -> ObjectStore:
    """What lies at an address, as obstore opens it. One request waits for `request`, all repeats of
    it together for `repeating`; nothing is asked for yet.

    Raises:
        ObjectsError: the address is malformed, or the environment lacks what it needs.
    """
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
            "(docs/nights-store.md)."
        ) from error


class Bucket:
    """The objects under a prefix of a bucket or container."""

    def __init__(
        self, url: str, *, request: timedelta = REQUEST, repeating: timedelta = REPEATING
    ) -> None:
        """Open a bucket without asking for anything in it.

        Raises:
            ObjectsError: the address is malformed, or the environment lacks what it needs.
        """
        self.place = url
        self._store = connect(url, request=request, repeating=repeating)

    def read(self, name: str, most: int, known: str | None = None) -> Object | None:
        """An object, as `Objects.read`."""
        options: GetOptions = {}
        e_tag = _version(known).get("e_tag") if known is not None else None
        if e_tag is not None:
            options["if_none_match"] = e_tag
        with self._told(name):
            try:
                found = obstore.get(self._store, checked_name(name), options=options)
            except NotModifiedError:
                return Object(b"", known or "")
            except FileNotFoundError as error:
                self._check_bucket(error)
                return None
            self._check_size(name, found.meta, most)
            tag = _tag(found.meta)
            return Object(b"" if tag == known else bytes(found.bytes()), tag)

    def has(self, name: str) -> bool:
        """Whether there is such an object."""
        with self._told(name):
            try:
                obstore.head(self._store, checked_name(name))
            except FileNotFoundError as error:
                self._check_bucket(error)
                return False
            return True

    def fetch(self, name: str, path: Path, most: int) -> None:
        """Write an object into a new file, as `Objects.fetch`; each piece of the same object."""
        try:
            with path.open("wb") as file:
                for piece in self._pieces(name, most):
                    file.write(piece)
        except OSError as error:
            raise ObjectsError(f"{path} cannot be written ({error.strerror}).") from error

    def _pieces(self, name: str, most: int) -> Iterator[bytes]:
        with self._told(name):
            meta = obstore.head(self._store, checked_name(name))
            self._check_size(name, meta, most)
            for start in range(0, meta["size"], PIECE):
                options: GetOptions = {"range": (start, min(start + PIECE, meta["size"]))}
                if meta["e_tag"] is not None:
                    options["if_match"] = meta["e_tag"]
                found = obstore.get(self._store, checked_name(name), options=options)
                yield bytes(found.bytes())

    def put(self, name: str, body: bytes | Path) -> None:
        """Store an object, as `Objects.put`; a large one in parts."""
        with self._told(name):
            obstore.put(
                self._store,
                checked_name(name),
                body,
                chunk_size=PIECE,
                max_concurrency=AT_ONCE,
            )

    def swap(self, name: str, body: bytes, tag: str | None) -> str:
        """Replace the object that has this tag, as `Objects.swap`."""
        mode: PutMode = "create" if tag is None else _version(tag)
        try:
            with self._told(name):
                return _tag(
                    obstore.put(
                        self._store, checked_name(name), body, mode=mode, use_multipart=False
                    )
                )
        except ObjectsError as error:
            return self._ours(name, body, tag, error)

    def names(self, folder: str) -> Iterator[str]:
        """The names of all objects in a folder, as `Objects.names`."""
        with self._told(folder):
            for some in obstore.list(self._store, prefix=checked_name(folder)):
                yield from filter(NAME.fullmatch, (found["path"] for found in some))

    def remove(self, name: str) -> None:
        """Remove an object; one that is not there is no error."""
        with self._told(name):
            try:
                obstore.delete(self._store, checked_name(name))
            except FileNotFoundError as error:
                self._check_bucket(error)

    def _ours(self, name: str, body: bytes, tag: str | None, error: ObjectsError) -> str:
        """The tag of our own bytes, if they are there although the answer said otherwise or none
        came: a repeat of a request that had succeeded is refused, too.
        """
        there = self.read(name, MOST_SWAPPED)
        if there is not None and there.body == body:
            return there.tag
        if (there.tag if there else None) != tag:
            raise ConflictError(f"{name} of {self.place} was replaced in the meantime.") from error
        raise error

    def _check_size(self, name: str, meta: ObjectMeta, most: int) -> None:
        if meta["size"] > most:
            raise ObjectsError(
                f"{name} of {self.place} is larger than the {most:,} bytes that it may have."
            )

    def _check_bucket(self, error: FileNotFoundError) -> None:
        if (code := CODE.search(str(error))) and code[1] == "NoSuchBucket":
            raise ObjectsError(f"There is no bucket at {self.place}; create it first.") from error

    @contextmanager
    def _told(self, name: str) -> Iterator[None]:
        """Turn every error of obstore into a sentence. Its own text may hold a signed address."""
        try:
            yield
        except FileNotFoundError as error:
            self._check_bucket(error)
            raise ObjectsError(f"There is no {name} at {self.place}.") from error
        except (AlreadyExistsError, PreconditionError) as error:
            raise ConflictError(f"{name} of {self.place} was replaced in the meantime.") from error
        except REFUSED as error:
            raise ObjectsError(
                f"{self.place} refuses these credentials for {name}{_why(error)}; "
                "docs/nights-store.md lists the rights that are needed."
            ) from error
        except (BaseError, ValueError, OSError) as error:
            if "BadScheme" in str(error):
                raise ObjectsError(
                    f"{self.place} is at an http address, which would expose what is sent; set "
                    "AWS_ALLOW_HTTP=true if the network is your own."
                ) from error
            if OF_THE_MACHINE.search(str(error)):
                raise ObjectsError(
                    f"There are no credentials for {self.place}: neither the environment nor this "
                    "machine has any; docs/nights-store.md names the variables."
                ) from error
            raise ObjectsError(
                f"{self.place} does not answer for {name}{_why(error)}; check that it runs, and "
                "check the address in the provider's variables (docs/nights-store.md)."
            ) from error


def _why(error: Exception) -> str:
    """What may be said of an error's text: the status and the code of the store's answer."""
    found = [match[1] for match in (STATUS.search(str(error)), CODE.search(str(error))) if match]
    return f" ({', '.join(found)})" if found else ""


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
