"""Every row of the security list is named by a test that proves it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
LIST = TESTS.parents[1] / "shared" / "oauth.md"
ROW = re.compile(r"\b([MRACTFVBKU])(\d\d)\b(?: to \1(\d\d)\b)?")


def rows_in(text: str) -> Iterator[str]:
    """The rows that a text names, singly or as `A01 to A03`."""
    for group, first, last in ROW.findall(text):
        yield from (f"{group}{number:02}" for number in range(int(first), int(last or first) + 1))


def proven() -> set[str]:
    """The rows that the docstrings of tests name."""
    texts = (path.read_text() for path in TESTS.rglob("test_*.py"))
    functions = [
        node
        for text in texts
        if ROW.search(text)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return {row for test in functions for row in rows_in(ast.get_docstring(test) or "")}


def test_every_row_is_proven() -> None:
    if not LIST.exists():
        pytest.skip("the security list is not beside the repository")
    listed = set(re.findall(r"(?m)^\| ([A-Z]\d\d) \|", LIST.read_text()))

    assert len(listed) > 100
    assert listed - proven() == set()
