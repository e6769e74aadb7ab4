"""Call and Answer: what a handler is given and what it gives back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from mcp_server.arguments import Arguments
from mcp_server.callers import Caller
from mcp_server.errors import ApiError
from mcp_server.services import Services
from store.accounts import Account, KeyHolder
from store.book import Book

ArgumentsT_co = TypeVar("ArgumentsT_co", bound=Arguments, covariant=True)


@dataclass(frozen=True, slots=True)
class Call(Generic[ArgumentsT_co]):
    """One admitted call: checked arguments, and one book pinned until it ends."""

    arguments: ArgumentsT_co
    caller: Caller
    book: Book
    services: Services
    pictures: bool
    """Whether the surface can show an image beside the JSON."""

    @property
    def holder(self) -> KeyHolder:
        """Who calls a keyed operation."""
        if self.caller.holder is None:
            raise ApiError("missing_api_key")
        return self.caller.holder

    @property
    def account(self) -> Account:
        """The calling account of a keyed operation."""
        return self.holder.account


@dataclass(frozen=True, slots=True)
class Answer:
    """What a handler answers: a JSON object, a picture, or both."""

    body: bytes | None = None
    """A JSON object; the gate splices the envelope in front of its fields."""
    png: bytes | None = None
    caption: str | None = None
    """What the picture shows, in words, where there is no JSON beside it."""
    allowance: Mapping[str, str] | None = None
    """What is left of the caller's quotas; the gate says."""
