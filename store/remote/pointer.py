"""Pointer: what a shared store of nights says in its one object that is ever replaced.

    manifest.json                    the active night and the end of the ledger; swapping it commits
    nights/VERSION-DIGEST.book       a sealed book; the digest's first 16 characters
    nights/VERSION-DIGEST.json       its manifest
    ledger/NUMBER-DIGEST.jsonl.gz    of the ledger; each names the digest of the one before

Everything else is put before the commit and never changed. Two machines may make the same night
with other bytes, or append other objects with the same number; the digests keep them apart, and
what did not commit is named by nothing that was, so nobody reads it.
"""

from __future__ import annotations

import re
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from store.errors import ManifestError
from store.ledger.manifest import Manifest, check_readable
from store.ledger.objects import Newest

POINTER: Final = "manifest.json"

MAX_BYTES: Final = 256 * 1024
"""A larger pointer is not one of ours."""

KEY = re.compile(r"^\d{8}-[0-9a-f]{12}-[0-9a-f]{16}$")


class Published(BaseModel):
    """The active night of a shared store, and the newest object of its ledger."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    published: Literal[1] = 1
    active: Manifest
    newest: Newest
    kept: tuple[Annotated[str, Field(pattern=KEY.pattern)], ...]
    """The keys of the nights that can be fetched, newest first; the active one among them."""
    commit: Annotated[int, Field(ge=1)]
    """How many commits there were: no two have the same bytes, so an old tag never fits again."""

    def encode(self) -> bytes:
        """The bytes of the object."""
        return self.model_dump_json(indent=2).encode() + b"\n"


def read_published(body: bytes, place: str) -> Published:
    """What the bytes of the object say.

    Raises:
        ManifestError: they are not such an object, or of a version that this program cannot read.
    """
    try:
        found = Published.model_validate_json(body)
    except ValidationError as error:
        raise ManifestError(
            f"{POINTER} of {place} is not what a nightly published; SCREENER_NIGHTS_URL must name "
            "a folder of its own."
        ) from error
    check_readable(found.active.schema_version, f"{POINTER} of {place}")
    version = found.active.data_version
    if key_of(found.active) not in found.kept or found.active.book.file != f"{version}.book":
        raise ManifestError(f"{POINTER} of {place} names a night that it does not hold.")
    return found


def version_of(key: str) -> str:
    """The version of the night that a key names."""
    return key.rpartition("-")[0]


def key_of(manifest: Manifest) -> str:
    """What names a night in the store: its version and the beginning of its book's digest."""
    return f"{manifest.data_version}-{manifest.book.sha256[:16]}"


def book_object(key: str) -> str:
    """The name of the book of a night."""
    return f"nights/{key}.book"


def manifest_object(key: str) -> str:
    """The name of the manifest of a night."""
    return f"nights/{key}.json"


def ledger_object(number: int, digest: str) -> str:
    """The name of an object of the ledger; the number and SHA-256 as `newest` or `previous` say."""
    return f"ledger/{number:06}-{digest}.jsonl.gz"
