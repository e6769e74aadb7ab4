"""Published: what a shared store of nights says in its one object that is ever replaced.

    manifest.json                   the active night and the end of the ledger; swapping it commits
    nights/VERSION.book             a sealed book
    nights/VERSION.json             its manifest
    ledger/NNNNNN-VERSION...        the objects of the ledger, as in a data folder
    charts/VERSION/FILE.png         charts, where the nightly draws them

Everything else is put before the commit and never changed. What a run left that did not commit is
not in the chain of the ledger that `newest` ends, so nobody reads it.
"""

from __future__ import annotations

from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from store.errors import ManifestError
from store.ledger_file import Newest
from store.manifest import Manifest, check_readable

POINTER: Final = "manifest.json"

MOST_BYTES: Final = 256 * 1024
"""A larger pointer is not one of ours."""


class Published(BaseModel):
    """The active night of a shared store, and the newest object of its ledger."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    published: Literal[1] = 1
    active: Manifest
    newest: Newest
    kept: tuple[str, ...]
    """The versions of the nights that can be fetched, newest first; the active one among them."""

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
    return found
