"""An evening: what a night holds, what readers make of it, and what of their marks is served."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from research.chartist.charts import name_of
from research.chartist.evening import count, found_evenings, reports_now
from research.chartist.finding import WINDOW, Find, Mark, Sighting, View, find, finds, kept_mark
from research.chartist.fit import is_set_aside
from research.chartist.ratings import FOLDER, read_ratings
from screener.nightly.bars import Bars, to_date
from screener.nightly.detector.detector import detect, line_values
from screener.nightly.detector.events import EndReason, Rows
from screener.nightly.detector.parameters import Parameters
from tests.screener.nightly.series import LENIENT, walk

MANY = LENIENT._replace(quality_min=20.0)


def forming(seed: int = 7) -> tuple[View, Rows]:
    """A chart without lines that ends while a setup is forming within its bars."""
    bars = walk(700, seed)
    for version in detect(bars, MANY).versions:
        last = int(version["first_served"])
        start = min(int(version[f"{side}_start"]) for side in ("upper", "lower"))
        if start > last - WINDOW + 1 > 0:
            return View("AAA", bars.take(slice(0, last + 1)), last), version
    raise AssertionError("nothing is forming on the walk")


def marked(view: View, version: Rows, higher: float = 1.0, kind: str | None = None) -> Mark:
    """A reader's mark of two contacts on each line, a factor above it."""
    upper, lower = (
        [
            (bar, higher * np.exp(line_values(version, view.first + bar)[side]))
            for bar in (int(version[f"{name}_start"]) - view.first, WINDOW - 1)
        ]
        for side, name in enumerate(("upper", "lower"))
    )
    kind = kind or name_of(int(version["type"]))
    answer = {"chart": 1, "score": 2, "kind": kind, "upper": upper, "lower": lower}
    return Mark.model_validate(answer)


def looked_for(view: View, mark: Mark, other: int = 1) -> Find:
    """What is served of a mark whose other reader gave a score."""
    seen = kept_mark(mark, view)
    session = to_date(view.bars.date[-1]).isoformat()
    both = (seen, replace(seen, score=other))
    return find(Sighting("find-0", "nobody", view.symbol, session, both), view.bars, MANY)


def test_a_formation_is_found_by_span_and_lines_and_then_by_name() -> None:
    view, version = forming()
    other = {"rising wedge", "falling wedge"} - {name_of(int(version["type"]))}
    right = looked_for(view, marked(view, version))
    renamed = looked_for(view, marked(view, version, kind=min(other)))
    higher = looked_for(view, marked(view, version, higher=1.2))

    assert (right.lines, right.named, right.served) == (True, True, True)
    assert (renamed.lines, renamed.named) == (True, False)
    assert (higher.lines, higher.served) == (False, True)


def test_a_mark_that_one_reader_does_not_see_is_no_formation() -> None:
    view, version = forming()
    mark = marked(view, version)
    both, one = (looked_for(view, mark, score).sighting for score in (1, 0))

    assert len(list(finds([both, one], {view.symbol: view.bars}, MANY))) == 1
    (line,) = found_evenings(finds([both, one], {view.symbol: view.bars}, MANY))
    assert "1 formations marked by readers" in line


def test_a_kept_mark_tells_no_price() -> None:
    view, version = forming()
    dearer = replace(view, bars=times(view.bars, 100.0))
    one = kept_mark(marked(view, version), view)
    other = kept_mark(marked(view, version, higher=100.0), dearer)

    for side in ("upper", "lower"):
        np.testing.assert_allclose(getattr(one, side), getattr(other, side), atol=2e-3)


def times(bars: Bars, factor: float) -> Bars:
    prices = {name: getattr(bars, name) * factor for name in ("open", "high", "low", "close")}
    return replace(bars, **prices)


def test_nights_are_counted_from_what_is_served_on_each() -> None:
    market = {"AAA": walk(900, 1), "BBB": walk(700, 2)}
    evenings = count(market, MANY)
    logs = [detect(bars, MANY) for bars in market.values()]
    triggered = [log.versions["end_reason"] == EndReason.TRIGGERED for log in logs]
    nights = [
        {bar for one in log.versions for bar in served(one, len(bars))}
        for log, bars in zip(logs, market.values(), strict=True)
    ]

    assert evenings.symbols.total() == 1600
    assert evenings.forming.total() == sum(map(len, nights)) > 0
    assert len(evenings.leads) == sum(map(np.sum, triggered)) > 0


def served(version: Rows, length: int) -> range:
    """The bars on which a version is forming."""
    return range(version["first_served"], version["end"] if version["end"] >= 0 else length)


def test_the_report_is_of_symbols_that_taught_nothing_and_keeps_its_promise() -> None:
    ratings = read_ratings(FOLDER / "evening-report.json")
    title, today, *_ = reports_now(ratings)

    assert all(one.symbol and is_set_aside(one.symbol) for one in ratings)
    assert title.startswith("Round evening-report")
    assert today.split()[:4] == ["served", "today", "83", "charts,"]
    assert Parameters().quality_min == pytest.approx(72.0)
