"""Argument models: lenient reading, and refusals that name the argument."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_server.calls.errors import ApiError
from mcp_server.operations.arguments import (
    Arguments,
    ChartArguments,
    HistoryArguments,
    ScanArguments,
    SymbolArguments,
    SymbolsArguments,
    read_arguments,
)
from mcp_server.operations.symbols import check_symbols


@pytest.mark.parametrize(
    ("given_limit", "limit"),
    [
        *((0, 1), (-5, 1), ("7", 7), (100, 100), (101, 100), ("+9", 9), (3.0, 3)),
        *(("9" * 8_000, 100), ("-" + "9" * 8_000, 1), ("+" + "0" * 8_000 + "7", 7), ("0" * 99, 1)),
    ],
)
def test_a_limit_of_any_length_is_clamped(given_limit: object, limit: int) -> None:
    assert read_arguments(HistoryArguments, {"symbol": "A", "limit": given_limit}).limit == limit


@pytest.mark.parametrize(
    "limit", ["", "x", "1.5", 1.5, None, True, [], "1e3", float("nan"), float("inf")]
)
def test_a_limit_that_is_no_integer_is_refused_by_name(limit: object) -> None:
    with pytest.raises(ApiError, match="limit must be an integer") as refusal:
        read_arguments(HistoryArguments, {"symbol": "A", "limit": limit})
    assert refusal.value.code == "bad_request"


@pytest.mark.parametrize(
    "hostile", ["9" * 200_000 + "x", "." + "9" * 200_000 + "x", "1e" + "9" * 200_000 + "x"]
)
def test_a_long_text_that_is_almost_a_number_is_refused_in_one_pass(hostile: str) -> None:
    # A pattern that backtracks would take minutes, and the suite's time limit would end the test.
    with pytest.raises(ApiError, match="max_distance_pct must be a number"):
        read_arguments(ScanArguments, {"max_distance_pct": hostile})


@pytest.mark.parametrize(
    ("model", "name", "longest"),
    [
        (ScanArguments, "filters", "[" + " " * 8190 + "]"),
        (ScanArguments, "max_distance_pct", "1." + "0" * 62),
        (ScanArguments, "status", " " * 57 + "forming"),
        (ScanArguments, "direction", " " * 57 + "bearish"),
    ],
)
def test_a_text_has_a_length_and_a_longer_one_is_refused_by_name(
    model: type[Arguments], name: str, longest: str
) -> None:
    others = {"symbol": "A", "setup_id": "1"}
    longer = longest[:-1] + "0" + longest[-1]

    assert getattr(read_arguments(model, others | {name: longest}), name) is not None
    with pytest.raises(ApiError, match=f"^bad_request: {name} must be") as refusal:
        read_arguments(model, others | {name: longer})
    assert len(refusal.value.message) < 200


@pytest.mark.parametrize(
    ("model", "name", "most"),
    [(SymbolArguments, "symbol", 64), (ChartArguments, "setup_id", 128)],
)
def test_of_an_endless_name_only_the_beginning_is_looked_for(
    model: type[Arguments], name: str, most: int
) -> None:
    given = {"symbol": "A", "setup_id": "1", name: "A" * 60_000}

    assert getattr(read_arguments(model, given), name) == "A" * most


@pytest.mark.parametrize("symbol", ["\u00df", "\u017f", "\uff21", "BRK-B", "", "A" * 25])
def test_only_letters_digits_and_dots_are_symbols_before_and_after_upper_casing(
    symbol: str,
) -> None:
    with pytest.raises(ApiError) as refusal:
        check_symbols(["AAPL", symbol])

    assert refusal.value.details == {"rejected": [symbol]}


@given(st.lists(st.text(max_size=30), max_size=5))
def test_any_list_of_texts_is_either_all_symbols_or_refused_with_the_bad_ones(
    raw: list[str],
) -> None:
    try:
        symbols = check_symbols(raw)
    except ApiError as refusal:
        assert refusal.code == "invalid_symbol"
        assert refusal.details is not None
        assert refusal.details["rejected"]
    else:
        assert all(set(s) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.") for s in symbols)


@given(st.dictionaries(st.text(max_size=8), st.none() | st.integers() | st.floats() | st.text()))
def test_no_arguments_whatever_cause_anything_but_a_bad_request(raw: dict[str, Any]) -> None:
    for model in (HistoryArguments, SymbolsArguments):
        try:
            read_arguments(model, {"symbol": raw, **raw})
        except ApiError as refusal:
            assert refusal.code == "bad_request"
