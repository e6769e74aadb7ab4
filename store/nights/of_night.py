"""Of a night: what is made of a book once and kept for as long as somebody holds the book."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from store.nights.book import Book

Made = TypeVar("Made")


class OfNight(Generic[Made]):
    """Makes something of each book when it is asked for first."""

    def __init__(self, make: Callable[[Book], Made]) -> None:
        self._make = make
        self._kept: WeakKeyDictionary[Book, Made] = WeakKeyDictionary()

    def of(self, book: Book) -> Made:
        """What is made of a book."""
        if book not in self._kept:
            self._kept[book] = self._make(book)
        return self._kept[book]
