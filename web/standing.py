"""Standing: how old the served night is, and whether a newer one was withdrawn."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from mcp_server.operations.age import Age
from store.active_night import ActiveNight
from store.book import Book
from store.withdrawals import Withdrawn


@dataclass(frozen=True, slots=True)
class Standing:
    """What every page that shows a night says of it."""

    age: Age
    withdrawal: Withdrawn | None
    """The newest withdrawal, unless the night is of a later session."""

    @classmethod
    def of(cls, book: Book, active_night: ActiveNight, today: dt.date) -> Standing:
        """The standing of a book of the active night on a UTC day."""
        newest = active_night.withdrawn[0] if active_night.withdrawn else None
        told = newest is not None and book.session and newest.as_of_session >= book.session
        return cls(Age.of(book, today), newest if told else None)
