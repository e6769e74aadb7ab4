"""Objects: the interface to a store of whole files that several machines share.

A name is a path of plain parts, such as `nights/20240308-0123456789ab.book`. An object is replaced
whole or not at all. Its tag changes with its bytes, and `swap` is how one of several writers wins.
All methods wait for a network: call them in a thread.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from store.errors import ObjectsError

NAME: Final = re.compile(
    r"(?:[A-Za-z0-9_][A-Za-z0-9._-]{0,199})(?:/[A-Za-z0-9_][A-Za-z0-9._-]{0,199}){0,7}"
)


class Object(NamedTuple):
    """The bytes of an object, and the tag that stands for them."""

    body: bytes
    tag: str


class Objects(Protocol):
    """A store of objects. Every method raises ObjectsError if the store does not answer."""

    @property
    def place(self) -> str:
        """Where it is, for an operator; without any secret."""
        ...

    def read(self, name: str, most: int, known: str | None = None) -> Object | None:
        """An object of at most so many bytes, without its body if its tag is `known`; None if there
        is none. One request says all three.

        Raises:
            ObjectsError: it is larger, too.
        """
        ...

    def has(self, name: str) -> bool:
        """Whether there is such an object."""
        ...

    def fetch(self, name: str, path: Path, most: int) -> None:
        """Write an object of at most so many bytes into a new file, a piece at a time.

        Raises:
            ObjectsError: there is no such object, or it is larger, too.
        """
        ...

    def put(self, name: str, body: bytes | Path) -> None:
        """Store an object, in place of one of that name; a path is read a piece at a time."""
        ...

    def swap(self, name: str, body: bytes, tag: str | None) -> str:
        """Replace the object that has this tag, or make the first one where the tag is None;
        returns the new tag. Of several writers that know the same tag, one succeeds.

        Raises:
            ConflictError: it has another tag. If the answer of the store was lost, it is read again
                to find out whose bytes are there, so that a success is never reported as this.
        """
        ...

    def names(self, folder: str) -> Iterator[str]:
        """The names of all objects in a folder and the folders in it, in no order; what has a name
        that no object of ours can have is passed over.
        """
        ...

    def remove(self, name: str) -> None:
        """Remove an object; one that is not there is no error."""
        ...


def checked_name(name: str) -> str:
    """A name, after checking that it is a path of plain parts that leads into no other place.

    Raises:
        ObjectsError: it is not.
    """
    if not NAME.fullmatch(name):
        raise ObjectsError(f"{name!r} cannot be the name of an object.")
    return name
