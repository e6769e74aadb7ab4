"""The age of a night in words: a session has ended from the UTC day after its date on."""

from __future__ import annotations

import datetime as dt
from contextlib import closing
from pathlib import Path

import pytest

from mcp_server.presentation.age import Age
from store.nights.book import Book
from tests.contract.market import active_book
from tests.resealed import rename_bars, reseal

LAST = dt.date(2013, 10, 7)
"""The 252nd session after 2012-10-03."""


@pytest.mark.parametrize(
    ("today", "missed", "said"),
    [
        ("2012-10-03", 0, "This night is current: no session has ended since 2012-10-03."),
        ("2012-10-04", 0, "This night is current"),
        ("2012-10-05", 1, "1 session has ended since the night of 2012-10-03"),
        ("2012-10-08", 2, "2 sessions have ended since the night"),
        ("2012-10-30", 17, "17 sessions"),
        ("2012-10-31", 17, "17 sessions"),
        ("2013-10-07", 251, "251 sessions have ended"),
        ("2013-10-08", 252, "At least 252 sessions have ended"),
        ("2099-01-01", 252, "At least 252 sessions have ended"),
    ],
)
def test_sessions_are_counted_once_they_are_over(
    data_dir: Path, today: str, missed: int, said: str
) -> None:
    reseal(data_dir, change_manifest=rename_bars)
    with closing(active_book(data_dir)) as book:
        age = Age.of(book, dt.date.fromisoformat(today))

        assert book.upcoming[-1] == LAST
    assert age.missed == missed
    assert age.words.startswith(said)
    assert ("not current" in age.words) == (missed > 0)


def test_the_sample_says_that_it_never_gets_newer(night: Path) -> None:
    with closing(active_book(night)) as book:
        for today in (dt.date(2012, 10, 4), dt.date(2026, 11, 22)):
            assert "sample night of 2012-10-03" in Age.of(book, today).words
            assert "never gets newer" in Age.of(book, today).words


def test_a_night_that_names_no_later_session_claims_nothing(data_dir: Path) -> None:
    reseal(data_dir, lambda content: content.meta.update(upcoming=[]), rename_bars)
    with closing(active_book(data_dir)) as book:
        unknown = Age.of(book, dt.date(2026, 11, 22))

    assert unknown.missed is None
    assert "does not say which sessions follow" in unknown.words
    assert "current" not in unknown.words


def test_before_the_first_night_there_is_none() -> None:
    book = Book.empty("test", "Not advice.")

    assert Age.of(book, dt.date(2026, 11, 22)).words == "There is no night yet."
    book.close()
