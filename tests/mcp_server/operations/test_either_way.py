"""A forming triangle that may break out either way is found by the plan that matches."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from mcp_server.operations.arguments import ScanArguments
from mcp_server.operations.handlers.scan import all_notes, select
from store.nights.book import Book
from store.nights.feature_table import FeatureTable, Labels

NAN = np.nan


def labels(*words: str) -> Labels:
    known = {word: code for code, word in enumerate(dict.fromkeys(words))}
    return Labels(known, np.array([known[word] for word in words], np.int16))


def view(symbol: str, *directions: str) -> SimpleNamespace:
    plans = [SimpleNamespace(direction=direction) for direction in directions]
    status = "in_progress" if symbol == "XYZ" else "forming"
    facts = {"direction": directions[0], "status": status, "currency": "USD"}
    return SimpleNamespace(symbol=symbol, plans=plans, attempt=1, gain_pct=None, **facts)


@pytest.fixture
def book() -> Book:
    """Row 0: bullish, 5 % away, its bearish plan 0.8 % away; row 1: bullish alone, 0.5 % away; row
    2: a bearish trade that runs.
    """
    numbers = {
        "dist_to_entry": np.array([0.8, 0.5, 0.2]),
        "distance": np.array([5.0, 0.5, NAN]),
        "opposite_distance": np.array([0.8, NAN, NAN]),
        "atr": np.array([0.4, 0.4, 0.4]),
        "sample": np.array([50.0, 5.0, 50.0]),
    }
    known = {
        "family": labels("triangle", "triangle", "triangle"),
        "direction": labels("bullish", "bullish", "bearish"),
        "phase": labels("forming", "armed", "confirmed"),
        "status": labels("forming", "forming", "in_progress"),
    }
    evidence = FeatureTable(cast("Any", [b""] * 3), numbers, known)
    rows = [view("SCS", "bullish", "bearish"), view("ABC", "bullish"), view("XYZ", "bearish")]
    scan = SimpleNamespace(rows=rows)
    return cast("Book", SimpleNamespace(evidence=evidence, scan=scan, currencies={}))


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
        ({"filters": '[{"kind":"dist_to_entry","op":"<","value":0.6}]'}, {1}),
        ({"symbols": ["ABC", "XYZ"]}, {1}),
        ({"min_sample": 10}, {0}),
        ({"direction": "bullish", "max_distance_pct": 1}, {1}),
        ({"direction": "bearish", "max_distance_pct": 1}, {0}),
        ({"direction": "bearish", "max_distance_pct": 0.6}, set()),
        ({"direction": "bullish", "filters": '[{"kind":"phase","value":"armed"}]'}, {1}),
        ({"direction": "bearish", "filters": '[{"kind":"phase","value":"armed"}]'}, {0}),
        ({"direction": "bullish", "min_sample": 10}, {0}),
        ({"direction": "bearish", "min_sample": 10}, set()),
        ({"direction": "bearish", "filters": '[{"kind":"atr","op":"<","value":9}]'}, {0}),
    ],
)
def test_either_plan_counts(book: Book, asked: dict[str, Any], found: set[int]) -> None:
    arguments = ScanArguments.model_validate(asked)

    matches = select(book, arguments)

    assert set(np.flatnonzero(matches.forming)) == found


@pytest.mark.parametrize(
    ("asked", "is_told"),
    [
        ({}, False),
        ({"direction": "bearish"}, True),
        ({"direction": "bullish"}, False),
        ({"max_distance_pct": 1}, True),
        ({"filters": '[{"kind":"phase","value":"armed"}]'}, True),
        ({"filters": '[{"kind":"dist_to_entry","op":"<","value":9}]'}, True),
        ({"filters": '[{"kind":"atr","op":"<","value":9}]'}, False),
    ],
)
def test_a_row_that_matches_by_the_plan_it_does_not_show_is_told(
    book: Book, asked: dict[str, Any], is_told: bool
) -> None:
    arguments = ScanArguments.model_validate(asked)
    matches = select(book, arguments)
    rows = np.flatnonzero(matches.forming).tolist()

    told = " ".join(all_notes(book, arguments, matches, rows))

    assert ("opposite_plan" in told) is is_told
    assert ("SCS (bearish, 0.80%)" in told) is is_told
