"""Call: what a handler is given."""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

from mcp_server.calls.callers import TRACKED_CAPS, Caller
from mcp_server.calls.errors import ApiError
from mcp_server.calls.surfaces import Conditions, Surface
from mcp_server.charts.chart_data import chart_data
from mcp_server.operations.answers import PNG, Answer
from mcp_server.operations.arguments import Arguments
from mcp_server.operations.services import Services
from store.accounts.keys import Principal
from store.nights.book import Book, StoredSetup

ArgumentsT = TypeVar("ArgumentsT", bound=Arguments)


class Call(NamedTuple, Generic[ArgumentsT]):
    """One admitted call: checked arguments, and one book pinned until it ends."""

    arguments: ArgumentsT
    caller: Caller
    book: Book
    services: Services
    surface: Surface
    conditions: Conditions

    @property
    def principal(self) -> Principal:
        """The principal that calls a keyed operation."""
        if self.caller.principal is None:
            raise ApiError("missing_api_key")
        return self.caller.principal

    @property
    def cap(self) -> int:
        """How many tickers the calling account may track."""
        return TRACKED_CAPS[self.principal.account.plan]

    def answer(
        self,
        fields: bytes,
        *,
        picture: bytes | None = None,
        app: bytes | None = None,
        lasting: bool = True,
    ) -> Answer:
        """A JSON object with the envelope of the night in front of its fields."""
        return Answer(self.book.enveloped(fields), picture=picture, app=app, lasting=lasting)

    @staticmethod
    def picture(png: bytes, caption: str | None = None, app: bytes | None = None) -> Answer:
        """A picture, and its caption in words."""
        return Answer(png, PNG, caption=caption, app=app)

    def chart_data(self, setup: StoredSetup) -> bytes | None:
        """What a page of the client's own draws a setup from; None where there is no such page."""
        return chart_data(self.book, setup) if self.surface.app else None
