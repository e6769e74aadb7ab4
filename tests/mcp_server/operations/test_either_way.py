"""A forming triangle that may break out either way is found by the plan that matches."""

from __future__ import annotations

import datetime as dt
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from mcp_server.operations.arguments import ScanArguments
from mcp_server.operations.handlers.scan import row_notes
from mcp_server.operations.selection import page, select
from store.nights.book import Book
from store.nights.feature_table import FeatureTable, Labels
from store.wire.scan_index import OF_A_PLAN, OPPOSITE

NAN = np.nan
DAY = dt.date(2026, 8, 3)


def labels(*words: str) -> Labels:
    known = {word: code for code, word in enumerate(dict.fromkeys(words))}
    return Labels(known, np.array([known[word] for word in words], np.int16))


def view(symbol: str, direction: str, opposite: SimpleNamespace | None = None) -> SimpleNamespace:
    status = "in_progress" if symbol == "XYZ" else "forming"
    facts = {"direction": direction, "status": status, "currency": "USD", "distance_pct": -0.8}
    return SimpleNamespace(symbol=symbol, opposite=opposite, attempt=1, gain_pct=None, **facts)


NUMBERS = {
    "dist_to_entry": (5.0, 0.5, 0.2),
    "distance": (5.0, 0.5, NAN),
    "min_rr": (1.0, 2.0, 2.0),
    "reward_to_risk": (1.0, 2.0, 2.0),
    "win_rate": (60.0, 40.0, 40.0),
    "sample": (50.0, 5.0, 50.0),
}
"""Numbers of the first plans, by column."""

SECOND = {
    "dist_to_entry": 0.8,
    "distance": 0.8,
    "min_rr": 3.0,
    "reward_to_risk": 3.0,
    "win_rate": 30.0,
    "sample": 8.0,
}
"""Those of the second plan of row 0."""


class Night(SimpleNamespace):
    """What a selection reads of a book, of which something is kept."""

    def __hash__(self) -> int:  # type: ignore[override]
        return id(self)


@pytest.fixture
def book() -> Book:
    """Row 0: bullish, 5 % away, its bearish plan 0.8 % away; row 1: bullish alone, 0.5 % away; row
    2: a bearish trade that runs.
    """
    numbers = {name: np.array(NUMBERS.get(name, (NAN,) * 3)) for name in OF_A_PLAN}
    for name in OF_A_PLAN:
        numbers[f"{OPPOSITE}{name}"] = np.array([SECOND.get(name, NAN), NAN, NAN])
    numbers["atr"] = np.array([0.4, 0.4, 0.4])
    known = {
        "family": labels("triangle", "triangle", "triangle"),
        "direction": labels("bullish", "bullish", "bearish"),
        "phase": labels("forming", "armed", "confirmed"),
        "status": labels("forming", "forming", "in_progress"),
    }
    features = FeatureTable(cast("Any", [b""] * 3), numbers, known)
    two_way = view("SCS", "bullish", view("SCS", "bearish"))
    scan = SimpleNamespace(rows=[two_way, view("ABC", "bullish"), view("XYZ", "bearish")])
    facts = {
        "features": features,
        "scan": scan,
        "currencies": {},
        "session": DAY,
        "next_session": DAY,
    }
    return cast("Book", Night(**facts))


def condition(kind: str, op: str, value: float) -> str:
    return f'{{"kind":"{kind}","op":"{op}","value":{value}}}'


def conditions(*each: tuple[str, str, float]) -> dict[str, Any]:
    return {"filters": f"[{','.join(condition(*one) for one in each)}]"}


FAR, NEAR = ("dist_to_entry", ">", 3), ("dist_to_entry", "<", 1)


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({}, {0, 1}),
        ({"direction": "bearish"}, {0}),
        ({"direction": "bullish"}, {0, 1}),
        ({"max_distance_pct": 1}, {0, 1}),
        ({"max_distance_pct": 0.6}, {1}),
        ({"filters": '[{"kind":"phase","value":"armed"}]'}, {0, 1}),
        ({"filters": '[{"kind":"phase","value":"forming"}]'}, set()),
        ({"filters": '[{"kind":"direction","value":"bearish"}]'}, {0}),
        (conditions(("dist_to_entry", "<", 0.6)), {1}),
        (conditions(FAR), set()),
        ({"direction": "bullish", **conditions(FAR)}, {0}),
        ({"symbols": ["ABC", "XYZ"]}, {1}),
        ({"min_sample": 10}, {0}),
        ({"direction": "bullish", "max_distance_pct": 1}, {1}),
        ({"direction": "bearish", "max_distance_pct": 1}, {0}),
        ({"direction": "bearish", "max_distance_pct": 0.6}, set()),
        ({"direction": "bullish", "filters": '[{"kind":"phase","value":"armed"}]'}, {1}),
        ({"direction": "bearish", "filters": '[{"kind":"phase","value":"armed"}]'}, {0}),
        ({"direction": "bullish", "min_sample": 10}, {0}),
        ({"direction": "bearish", "min_sample": 10}, set()),
        ({"direction": "bearish", "min_sample": 8}, {0}),
        ({"direction": "bearish", "filters": '[{"kind":"atr","op":"<","value":9}]'}, {0}),
        (conditions(("min_rr", ">=", 3)), {0}),
        (conditions(("min_rr", ">=", 3), NEAR), {0}),
        ({"max_distance_pct": 1, **conditions(("min_rr", ">=", 3))}, {0}),
        ({"direction": "bullish", **conditions(("min_rr", ">=", 3))}, set()),
        # Each is fulfilled by a plan, and no plan fulfils both.
        (conditions(("win_rate", ">", 50), NEAR), set()),
        (conditions(("win_rate", ">", 50), ("min_rr", ">=", 3)), set()),
        ({"min_sample": 20, **conditions(("min_rr", ">=", 3))}, set()),
        (conditions(("win_rate", ">", 50)), {0}),
        (conditions(("win_rate", "<", 35)), {0}),
    ],
)
def test_one_plan_fulfils_all_conditions(
    book: Book, asked: dict[str, Any], found: set[int]
) -> None:
    arguments = ScanArguments.model_validate(asked)

    matches = select(book, arguments)

    assert set(np.flatnonzero(matches.forming)) == found


def told_of(book: Book, asked: dict[str, Any]) -> tuple[str, str]:
    """The notes of a page with all forming matches, and of one without any."""
    arguments = ScanArguments.model_validate(asked)
    matches = select(book, arguments)
    rows = np.flatnonzero(matches.forming).tolist()
    whole, empty = (" ".join(row_notes(book, arguments, matches, some)) for some in (rows, []))
    return whole, empty


@pytest.mark.parametrize(
    ("asked", "is_told"),
    [
        ({}, False),
        ({"direction": "bearish"}, True),
        ({"direction": "bullish"}, False),
        ({"max_distance_pct": 1}, True),
        ({"filters": '[{"kind":"phase","value":"armed"}]'}, True),
        (conditions(("dist_to_entry", "<", 9)), True),
        ({"filters": '[{"kind":"atr","op":"<","value":9}]'}, False),
        ({"sort": "distance"}, True),
        ({"sort": "nearness"}, True),
        ({"sort": "distance", "direction": "bullish"}, False),
        (conditions(("min_rr", ">=", 3)), True),
        (conditions(("win_rate", "<", 35)), True),
        (conditions(("win_rate", "<", 65)), False),
        ({"sort": "-reward_to_risk"}, True),
        ({"sort": "-reward_to_risk", "direction": "bullish"}, False),
        ({"sort": "-win_rate"}, False),
    ],
)
def test_a_row_that_matches_by_the_plan_it_does_not_show_is_told(
    book: Book, asked: dict[str, Any], is_told: bool
) -> None:
    told, elsewhere = told_of(book, asked)

    assert ("opposite_plan" in told) is is_told
    assert ("SCS (bearish, 0.80%)" in told) is is_told
    assert ("1 of " in elsewhere and "opposite_plan" in elsewhere) is is_told, "of all matches"
    assert "SCS" not in elsewhere, "of this page"


@pytest.mark.parametrize(
    ("sort", "plan"),
    [("rank", "first"), ("price", "first"), ("distance", "second"), ("nearness", "second")],
)
def test_the_note_says_whether_the_order_counts_the_second_plan(
    book: Book, sort: str, plan: str
) -> None:
    told, _ = told_of(book, {"direction": "bearish", "sort": sort})

    assert ("The order counts that plan too" in told) is (plan == "second")
    assert ("The order and the numbers of these rows count their first one" in told) is (
        plan == "first"
    )


@pytest.mark.parametrize(
    ("asked", "order"),
    [
        ({"sort": "distance"}, [1, 0, 2]),
        ({"sort": "-distance"}, [0, 1, 2]),
        ({"sort": "-win_rate"}, [0, 1, 2]),
        ({"sort": "win_rate"}, [0, 1, 2]),
        ({"sort": "-reward_to_risk"}, [0, 1, 2]),
        ({"sort": "reward_to_risk"}, [0, 1, 2]),
        ({"sort": "-reward_to_risk", "direction": "bullish"}, [1, 0]),
        ({"sort": "-win_rate", **conditions(("min_rr", ">", 1.5))}, [1, 2, 0]),
    ],
)
def test_the_order_counts_the_plan_that_matches_and_of_two_the_one_that_comes_first(
    book: Book, asked: dict[str, Any], order: list[int]
) -> None:
    arguments = ScanArguments.model_validate({"status": "all", **asked})

    _, rows = page(book.features, select(book, arguments), arguments)

    assert rows == order


def test_what_a_plan_knows_is_not_missing(book: Book) -> None:
    book.features.numbers["opposite_min_win_rate"][0] = 55.0
    both = ScanArguments.model_validate(conditions(("min_win_rate", ">", 50)))
    one = both.model_copy(update={"direction": "bullish"})

    assert select(book, both).without_evidence == {"min_win_rate": 1}
    assert select(book, one).without_evidence == {"min_win_rate": 2}
