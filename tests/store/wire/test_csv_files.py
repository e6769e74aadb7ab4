"""Sheets: what a stranger named is text in every spreadsheet, and numbers stay numbers."""

from __future__ import annotations

import csv
import io

import pytest

from store.wire.csv_files import csv_text


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@A1", " =1", "\N{FULLWIDTH EQUALS SIGN}1"])
def test_a_text_that_a_spreadsheet_would_compute_is_quoted(text: str) -> None:
    assert csv_text([[text, -1.5]]) == f"'{text},-1.5\r\n"


def test_any_text_is_read_back_in_its_own_cell() -> None:
    rows: list[list[object]] = [["name", "value"], ['A "big", one', None], ["two\nlines\x1b", 3]]

    found = list(csv.reader(io.StringIO(csv_text(rows), newline="")))

    assert found == [
        ["name", "value"],
        ['A "big", one', ""],
        ["two\N{REPLACEMENT CHARACTER}lines\N{REPLACEMENT CHARACTER}", "3"],
    ]
