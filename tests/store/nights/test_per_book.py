"""What is made of a night is made once for each book, and goes with it."""

from __future__ import annotations

import gc
import weakref
from contextlib import closing

from store.nights.book import Book, PerBook


class Made:
    """Something that a test can watch."""


def test_what_is_made_of_a_book_is_made_once_even_if_another_book_comes_between() -> None:
    calls: list[Book] = []

    def make(book: Book) -> Made:
        calls.append(book)
        return Made()

    kept = PerBook(make)

    with closing(Book.empty("a", "d")) as first, closing(Book.empty("b", "d")) as second:
        made = kept.of(first)
        assert kept.of(second) is not made
        assert kept.of(first) is made
        assert calls == [first, second]


def test_what_was_made_of_a_book_goes_with_the_book() -> None:
    kept = PerBook(lambda _book: Made())
    book = Book.empty("a", "d")
    made = weakref.ref(kept.of(book))
    book.close()

    del book
    gc.collect()

    assert made() is None
