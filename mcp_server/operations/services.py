"""Services: what the handlers use, built once by the composition root and passed in."""

from __future__ import annotations

from dataclasses import dataclass, field

from mcp_server.operations.answers import Answers
from mcp_server.operations.charts import Charts
from mcp_server.operations.directory import Directory
from mcp_server.operations.limits import Limiter
from mcp_server.operations.offer import Offer
from store.accounts.principals import Principals
from store.accounts.usage import UsageLog
from store.accounts.watchlist import Watchlist
from store.nights.active_night import ActiveNight
from store.nights.book import Book, PerBook


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
    directories: PerBook[Directory] = field(default_factory=lambda: PerBook(Directory.of))

    def directory(self, book: Book) -> Directory:
        """The directory of a night, in which symbols are looked up."""
        return self.directories.of(book)
