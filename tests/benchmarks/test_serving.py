"""The book that the serving benchmark publishes, and its cases."""

from __future__ import annotations

from pathlib import Path

from benchmarks.serving.book import make_market, read_template, seal
from store.nights.book import Book
from store.nights.nights import Nights


def test_the_synthetic_night_holds_what_the_market_is_made_of(night: Path, tmp_path: Path) -> None:
    market = make_market(read_template(night), 30)
    seal(market, tmp_path)
    nights = Nights(tmp_path)
    manifest = nights.check_active()
    assert (manifest.counts.covered, manifest.counts.setups) == (30, 24)
    book = Book.open(nights.folder / manifest.book.file, manifest)
    first = market.tracked[0]
    history = book.history(first)
    assert history is not None
    assert (first, len(history.rows), len(history.outcomes)) == ("S00000", 60, 60)
    assert book.patterns(first) == market.listings[0].patterns.model_dump_json().encode()
    assert len(book.features.bodies) == len(book.features.numbers["rsi"]) == 24
    assert book.prices("S00029") is not None
    book.close()
