"""Night head: what every page says of the night that it shows."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from store.book import Book
from web.site import Site
from web.standing import Standing


@dataclass(frozen=True, slots=True)
class NightHead:
    """The session of a night, its version and standing, and the disclaimer."""

    session: dt.date | None
    version: str | None
    standing: Standing
    disclaimer: str

    @classmethod
    def of(cls, site: Site, book: Book) -> NightHead:
        """The head of a book of the active night today."""
        standing = Standing.of(book, site.services.active_night, site.clock().date())
        return cls(book.session, book.data_version, standing, book.disclaimer)
