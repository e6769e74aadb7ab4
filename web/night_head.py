"""Night head: what every page says of the night that it shows."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import partial

from mcp_server.operations.age import Age
from store.ledger.ledger import Withdrawn
from store.nights.book import Book
from web.assets import Assets
from web.pages import Context, Page, Pages
from web.refusals import Refusal
from web.site import Site
from web.visit import Visit


@dataclass(frozen=True, slots=True)
class NightHead:
    """The session of a night, its version and age, and the disclaimer."""

    session: dt.date | None
    version: str | None
    age: Age
    withdrawal: Withdrawn | None
    """The newest withdrawal, unless the night is of a later session."""
    disclaimer: str

    @classmethod
    def of(cls, site: Site, book: Book) -> NightHead:
        """The head of a book of the active night today."""
        age = Age.of(book, site.clock().date())
        newest = next(iter(site.services.active_night.withdrawn), None)
        told = newest if newest and book.session and newest.as_of_session >= book.session else None
        return cls(book.session, book.data_version, age, told, book.disclaimer)


class NightPages(Pages):
    """The templates, also of pages that show a night."""

    def __init__(self, site: Site, assets: Assets) -> None:
        super().__init__(assets, sign_up=site.sign_up, public_url=site.services.offer.public_url)
        self._site = site

    def show(
        self,
        template: str,
        visit: Visit,
        book: Book,
        make: Callable[..., Context],
        *,
        refusal: Refusal | None = None,
        **depends: Hashable,
    ) -> Page:
        """A page of a book's night, which is public, as `public` says, for who is not signed in.

        `make` is called with the book, which the night names, and with what else it depends on.
        """
        made, night = partial(make, book, **depends), NightHead.of(self._site, book)
        if visit.account is None and refusal is None:
            request = visit.request
            return self.public(template, request, "no-store", made, night=night, **depends)
        context: Context = {"night": night, **depends, **made()}
        return self.respond(template, visit, refusal=refusal, **context)
