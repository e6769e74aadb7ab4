"""The serving benchmark measures a real service over a book that was published."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from benchmarks.serving.__main__ import contenders
from benchmarks.serving.book import make_market, read_template, seal
from benchmarks.serving.cases import chosen, make_cases
from benchmarks.serving.fresh import Fresh
from benchmarks.serving.load import Loader
from benchmarks.serving.report import CONNECTIONS, Measured, report
from benchmarks.serving.rounds import measure
from benchmarks.serving.stage import build
from store.book import Book
from store.nights import Nights


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
    assert len(book.evidence.bodies) == len(book.evidence.numbers["rsi"]) == 24
    assert book.prices("S00029") is not None
    book.close()


def test_a_round_sets_the_service_beside_a_floor_that_answers_alike(
    night: Path, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        stage = build(stack, night, tmp_path, [10], None, ["rest-patterns"])
        found = measure(contenders(stage, CONNECTIONS), Loader(wrk=None), stage.keys, 1, 1)
        memory = stage.largest.memory()
    assert [contender.name for contender in found] == ["ours", "bare"]
    for figures in found.values():
        assert figures.cpu > 0
        assert figures.runs[0].requests > 0
        assert figures.runs[0].refused == 0
    # The share is that of all processes, the one that draws among them.
    assert 0 < memory.rss < 2 * memory.pss < 4 * memory.rss
    text = report(Measured(found, {}, Fresh(10, [1.0], [0.5], memory)))
    assert "rest-patterns over bare" in text


def test_a_path_that_does_not_exist_is_refused_with_those_that_do() -> None:
    with pytest.raises(ValueError, match="rest-patterns, rest-history"):
        chosen(make_cases("S00000", "1", '"tag"'), ["rest"])
