"""What handlers are given: one admitted call, and the services that a process builds once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, NamedTuple

from mcp_server.calls.callers import Caller, Conditions, Surface
from mcp_server.calls.errors import ApiError
from mcp_server.charts.chart_data import chart_data
from mcp_server.charts.charts import Charts
from mcp_server.filters.symbol_search import SymbolSearch
from mcp_server.limits.limits import Limiter
from mcp_server.operations.access import cap_of
from mcp_server.operations.answers import Answer, Answers
from mcp_server.operations.arguments import ArgumentsT
from mcp_server.presentation.offer import Offer
from store.accounts.keys import Principal
from store.accounts.principals import Principals
from store.accounts.usage import UsageLog
from store.accounts.watchlist import Watchlist
from store.nights.active_night import ActiveNight
from store.nights.book import Book, PerBook, StoredSetup


@dataclass(frozen=True, slots=True)
class Services:
    """Everything an operation may use."""

    offer: Offer
    active_night: ActiveNight
    principals: Principals
    watchlist: Watchlist
    usage: UsageLog
    limiter: Limiter
    charts: Charts
    answers: Answers = field(default_factory=Answers)
    directories: PerBook[SymbolSearch] = field(default_factory=lambda: PerBook(SymbolSearch.of))

    @property
    def offer_of_night(self) -> Offer:
        """The offer, with an example that has a setup in the active night if there is one."""
        return self.offer.with_example(self.active_night.book.scan.counts)

    def directory(self, book: Book) -> SymbolSearch:
        """The directory of a night, in which symbols are looked up."""
        return self.directories.of(book)


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
        return cap_of(self.principal.account)

    def answer(self, *fields: bytes) -> Answer:
        """A JSON object, in parts, with the envelope of the night in front of its fields."""
        return Answer(self.book.enveloped(*fields), warning=self.book.warning)

    def chart_data(self, setup: StoredSetup) -> bytes | None:
        """What a page of the client's own draws a setup from; None where there is no such page."""
        return chart_data(self.book, setup) if self.surface.app else None
