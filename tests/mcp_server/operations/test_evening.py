"""What an evening calls near: within 2% of the nearer trigger, whatever the symbol's range is."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import cast

from mcp_server.operations.handlers.changes import evening, near_words, served_tonight
from store.nights.book import Book
from store.wire.view import SetupView
from tests.store.wire.views import forming


def setup(symbol: str, *triggers: tuple[str, float]) -> SetupView:
    return replace(forming(100.0, list(triggers)), symbol=symbol, lineage_id=symbol)


def test_what_is_within_2_percent_is_listed_as_near_or_named_where_it_is_listed() -> None:
    views = [
        setup("XLB", ("bullish", 101.7)),
        setup("OTRK", ("bullish", 108.75)),
        setup("DD", ("bullish", 110.0), ("bearish", 99.5)),
        setup("DOW", ("bearish", 95.0), ("bullish", 100.92)),
        setup("GEV", ("bullish", 112.0)),
    ]
    new = [
        {"symbol": name, "lineage_id": name, "attempt": 1, "session": None, "reason": "found"}
        | {"change": "new", "r_multiple": None}
        for name in ("DOW", "GEV")
    ]
    scan = SimpleNamespace(rows=views, formations={view.lineage_id: [view] for view in views})
    changes = {"changes": new, "since_session": "2026-08-13"}
    book = cast("Book", SimpleNamespace(scan=scan, session="2026-08-14", changes=lambda: changes))

    groups = evening(book)

    assert {name: [one.symbol for one in found] for name, found in groups.items()} == {
        "New tonight": ["DOW", "GEV"],
        "Near the trigger": ["DD", "XLB"],
    }
    assert near_words(groups) == (
        "Near the trigger means within 2% of it. These are near too, but listed under another "
        "heading: DOW."
    )


def test_what_an_earlier_night_told_of_a_setup_is_not_its_trigger_of_tonight() -> None:
    views = [setup(name, ("bullish", 101.7)) for name in ("BNBUSDT", "STGUSDT")]
    formations = {view.lineage_id: [view] for view in views}
    book = cast(
        "Book", SimpleNamespace(session="2026-01-02", scan=SimpleNamespace(formations=formations))
    )
    row = {"change": "new", "attempt": 1, "r_multiple": None}
    nights = {"BNBUSDT": "2026-01-02", "STGUSDT": "2025-12-31"}
    rows = [row | {"lineage_id": name, "night": night} for name, night in nights.items()]

    assert [view.symbol for view in served_tonight(book, rows)] == ["BNBUSDT"]
    unnamed = [row | {"lineage_id": name} for name in nights]
    assert [view.symbol for view in served_tonight(book, unnamed)] == [*nights]
