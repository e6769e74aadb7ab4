"""Age: how many sessions have ended since a night, as of a UTC day, and the sentence that says it.

No data call computes it: a sealed answer carries `next_session` for its reader to compare.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

from store.nights.book import Book
from store.wire.words import NO_NIGHT, capitalized, sessions_ended


@dataclass(frozen=True, slots=True)
class Age:
    """How old a night is on a day."""

    session: dt.date | None
    next_session: dt.date | None
    missed: int | None
    """Sessions that have ended since, at most those that the night names; None if it names none. A
    session has ended from the UTC day after its date on.
    """
    named: int
    """How many sessions after its own the night names."""
    sample: bool

    @classmethod
    def of(cls, book: Book, today: dt.date) -> Age:
        """The age of a book's night on a UTC day."""
        missed, named = book.ended_by(today), len(book.upcoming)
        return cls(book.session, book.next_session, missed, named, book.sample)

    @property
    def words(self) -> str:
        """The age in one sentence."""
        if self.session is None:
            return NO_NIGHT
        if self.sample:
            return (
                f"This is the sample night of {self.session}, made from the bars that come with "
                "the program; it never gets newer."
            )
        if self.missed is None:
            return f"This is the night of {self.session}; it does not say which sessions follow."
        if self.missed == 0:
            return f"This night is current: no session has ended since {self.session}."
        ended = capitalized(sessions_ended(self.missed, self.named))
        return f"{ended} since the night of {self.session}; it is not current."

    @property
    def fields(self) -> dict[str, Any]:
        """The age as JSON values, for programs."""
        return {
            "as_of_session": self.session,
            "next_session": self.next_session,
            "sessions_missed": self.missed,
            "sample": self.sample,
            "words": self.words,
        }
