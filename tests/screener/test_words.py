"""The words that the program shows: what a program can see of sentences that must be read twice.

`python -m tests.sentences --odd PLACE` prints the same of any place.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sentences import DOCUMENTS, ROOMS, ROOT, oddities, sentences

BACKWARD = re.compile(r"(?:^|[.!?:] )(?:Of|Who|Whose|The same)\b")
"""A sentence whose subject must be looked for."""


@pytest.mark.parametrize("room", [*ROOMS, *DOCUMENTS])
def test_a_sentence_that_is_shown_can_be_read_once(room: str) -> None:
    odd = [
        f"{name}: {why}: {text}"
        for name, texts in sentences([room])
        for text in texts
        for why in oddities(text)
    ]

    assert odd == []


@pytest.mark.parametrize("room", ROOMS)
def test_a_docstring_begins_with_its_subject(room: str) -> None:
    odd = [
        f"{path.relative_to(ROOT)}:{line}: {text[:80]}"
        for path in sorted((ROOT / room).rglob("*.py"))
        for line, text in docstrings(path)
        if BACKWARD.search(text)
    ]

    assert odd == []


def docstrings(path: Path) -> Iterator[tuple[int, str]]:
    """The texts that stand alone as statements, with their lines."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.lineno, " ".join(str(node.value.value).split())


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("It holds 1 symbols and a night.", "a plural of 1"),
        ("The owner alone can read it.", "alone for only"),
        ("The report says why it is missing.", "a thing that says"),
        ("Assumed, since nobody says so.", "says so"),
        (" ".join(["word"] * 36) + ", that is.", "over 35 words"),
        ("It has 1 symbol and 1,531 trades; leave it alone, and say so.", None),
    ],
)
def test_the_check_finds_what_it_looks_for(text: str, why: str | None) -> None:
    assert next(oddities(text), None) == why
