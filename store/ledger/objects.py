"""Objects: those of the ledger, each a name, a head and lines in a compressed file."""

from __future__ import annotations

import datetime as dt
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import orjson
from pydantic import AwareDatetime, BaseModel, Field, TypeAdapter, ValidationError

from store.errors import DamageError, LedgerError
from store.ledger.manifest import SAMPLE, VERSION_PATTERN
from store.ledger.served import Line, Tally, line_of
from store.wire.records import Count, Record

NEWEST = "head.json"

MAX_OBJECT = 64 * 2**20
"""Bytes of an object at most, compressed or not; a market of 11,000 symbols has 2 MB."""

MAX_LINES = 200_000
"""Lines of an object at most; a market of 11,000 symbols has some thousands."""

MAX_HEAD = 64 * 2**10
MAX_REASON = 500
GZIP = 31
"""The window bits of zlib that stand for gzip."""

NAME = re.compile(r"^(\d{6})-(\d{8}-[0-9a-f]{12})(\.withdrawal)?\.jsonl\.gz$")

Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Version = Annotated[str, Field(pattern=VERSION_PATTERN.pattern)]


@dataclass(frozen=True, slots=True, order=True)
class Name:
    """The name of an object's file: its number, the night that it is about, and its kind."""

    number: int
    version: str
    withdrawal: bool = False

    @classmethod
    def of(cls, head: AnyHead) -> Name:
        """The name of the object with a head."""
        return cls(head.number, head.data_version, isinstance(head, Withdrawal))

    @classmethod
    def read(cls, file: str) -> Name | None:
        """The name that a file has; None if it is not that of an object."""
        found = NAME.match(file)
        return cls(int(found[1]), found[2], bool(found[3])) if found else None

    @property
    def file(self) -> str:
        """The name of the file."""
        kind = ".withdrawal" if self.withdrawal else ""
        return f"{self.number:06}-{self.version}{kind}.jsonl.gz"

    @property
    def day(self) -> str:
        """The session of the night as YYYYMMDD."""
        return self.version[:8]


class Head(Record):
    """What the first lines of all objects share."""

    ledger: Literal[1] = 1
    number: Annotated[int, Field(ge=1)]
    data_version: Version
    as_of_session: dt.date
    previous: Digest | None
    """The digest of the object before; null for the first."""
    simulated: bool = False
    """Whether the night was replayed later and was never published."""


class NightHead(Head):
    """The first line of a published night."""

    kind: Literal["night"] = "night"
    bars: str
    """The name of the source."""
    book_sha256: Digest
    detector: int
    method_version: Count
    published_at: dt.datetime
    since: Annotated[int, Field(ge=1)] | None
    """The number of the object that the night is compared with."""
    as_served: Tally

    @property
    def sample(self) -> bool:
        """Whether the night was made of the bars that come with the program."""
        return self.bars == SAMPLE


class Withdrawal(Head):
    """The only line of a withdrawal: the night must not be served again."""

    kind: Literal["withdrawal"] = "withdrawal"
    reason: Annotated[str, Field(min_length=1, max_length=MAX_REASON)]
    at: AwareDatetime


AnyHead = NightHead | Withdrawal

HEAD: TypeAdapter[AnyHead] = TypeAdapter(Annotated[AnyHead, Field(discriminator="kind")])


class Newest(Record):
    """The newest object: replaced after each append."""

    number: Annotated[int, Field(ge=0)]
    sha256: Digest | None
    pending: bool = False
    """Whether it is of a night that has yet to become active for the first time."""

    def encode(self) -> bytes:
        """The bytes of `head.json`."""
        return self.model_dump_json(exclude_defaults=True).encode() + b"\n"


NOTHING = Newest(number=0, sha256=None)
"""The newest object of an empty ledger."""


@dataclass(frozen=True, slots=True)
class Written:
    """An object that was read: its head and the JSON values of its other lines."""

    name: Name
    head: AnyHead
    rows: Sequence[Any]

    def lines(self) -> list[Line]:
        """The other lines.

        Raises:
            DamageError: one of them is no line.
        """
        try:
            return [line_of(row) for row in self.rows]
        except ValidationError as error:
            raise DamageError(self.name.file, "a line is not one of the ledger") from error


def encoded(head: Head, lines: Sequence[BaseModel] = ()) -> bytes:
    """The bytes of an object: lines of JSON, compressed without a date."""
    rows = [orjson.dumps(row.model_dump(mode="json")) for row in (head, *lines)]
    packer = zlib.compressobj(9, zlib.DEFLATED, GZIP)
    return packer.compress(b"\n".join([*rows, b""])) + packer.flush()


def decoded(name: Name, body: bytes) -> Written:
    """The inverse of `encoded`.

    Raises:
        DamageError: the bytes are no object.
    """
    unpacker = zlib.decompressobj(GZIP)
    try:
        text = unpacker.decompress(body, MAX_OBJECT)
    except zlib.error as error:
        raise DamageError(name.file, "it cannot be decompressed") from error
    if not unpacker.eof or unpacker.unused_data:
        raise DamageError(name.file, "it is cut off, too long, or more than one file")
    if text.count(b"\n") > MAX_LINES:
        raise DamageError(name.file, f"it has more than {MAX_LINES:,} lines")
    head, *rest = text.removesuffix(b"\n").split(b"\n")
    try:
        return Written(name, HEAD.validate_json(head), orjson.loads(b"[" + b",".join(rest) + b"]"))
    except ValidationError as error:
        raise DamageError(name.file, "its first line is not a head") from error
    except orjson.JSONDecodeError as error:
        raise DamageError(name.file, "a line is not JSON") from error


def head_of(name: Name, body: bytes) -> AnyHead:
    """The head of an object with a name, from the first bytes of its file.

    Raises:
        DamageError: there is no head, or that of another object.
    """
    try:
        head = first_line(body)
    except LedgerError as error:
        raise DamageError(name.file, str(error)) from error
    if Name.of(head) != name:
        raise DamageError(name.file, f"its first line is that of {Name.of(head).file}")
    return head


def first_line(body: bytes) -> AnyHead:
    """The head of an object, from the first bytes of its file.

    Raises:
        LedgerError: there is no head; the message lacks the file's name.
    """
    try:
        text = zlib.decompressobj(GZIP).decompress(body[:MAX_HEAD], MAX_HEAD)
        return HEAD.validate_json(text.split(b"\n", 1)[0])
    except zlib.error as error:
        raise LedgerError("it cannot be decompressed") from error
    except ValidationError as error:
        raise LedgerError("its first line is not a head") from error


def read_newest(body: bytes) -> Newest:
    """What the bytes of `head.json` say.

    Raises:
        LedgerError: they are not those that were written.
    """
    try:
        found = Newest.model_validate_json(body)
    except ValidationError as error:
        raise DamageError(NEWEST, "it cannot be read") from error
    if found.encode() != body:
        raise DamageError(NEWEST, "it is not as it was written")
    return found


def ended(reason: str) -> str:
    """A reason as the end of a sentence."""
    return f"{reason.rstrip(' .')}."
