"""Call and Answer: what a handler is given and what it gives back."""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

from mcp_server.allowances import Allowance
from mcp_server.arguments import Arguments
from mcp_server.callers import Caller
from mcp_server.errors import ApiError
from mcp_server.pages import Page
from mcp_server.services import Services
from store.accounts import Account, KeyHolder
from store.book import Book

ArgumentsT = TypeVar("ArgumentsT", bound=Arguments)


class Call(NamedTuple, Generic[ArgumentsT]):
    """One admitted call: checked arguments, and one book pinned until it ends."""

    arguments: ArgumentsT
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


class Answer(NamedTuple):
    """What a handler answers: a JSON object, a picture, or both."""

    body: bytes | None = None
    """A JSON object; the gate splices the envelope in front of its fields."""
    png: Page | None = None
    caption: str | None = None
    """What the picture shows, in words, where there is no JSON beside it."""


class Served(NamedTuple):
    """An answer as the gate hands it to a surface."""

    page: Page | None
    """The JSON with its envelope."""
    png: Page | None
    caption: str | None
    allowance: Allowance
    """What is left of the caller's quotas."""
