"""The book that charts are made of."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from store.nights.book import Book
from tests.contract.market import active_book


@pytest.fixture(scope="module")
def book(night: Path) -> Iterator[Book]:
    with closing(active_book(night)) as opened:
        yield opened
