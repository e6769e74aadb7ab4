"""What docs/troubleshooting.md quotes is really said."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]

PACKAGES = ("screener", "store")


def sentences() -> Iterator[str]:
    """Each text of the program; what is put into it is a dot."""
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield node.value
                elif isinstance(node, ast.JoinedStr):
                    yield "".join(map(_part, node.values))


def _part(node: ast.expr) -> str:
    return str(node.value) if isinstance(node, ast.Constant) else "…"


def test_each_line_of_the_table_is_said_somewhere() -> None:
    page = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    table = page.split("| message |")[1].split("\n\n")[0]
    rows = [line.split(" | ") for line in table.splitlines() if line.startswith("| ")]
    quoted = [found for row in rows for found in re.findall("`([^`]+)`", row[0])]
    said = list(sentences())

    assert len(quoted) == len(rows) > 15
    missing = [line for line in quoted if not any(_says(text, line) for text in said)]
    assert missing == []


def _says(text: str, line: str) -> bool:
    """Whether a text holds a line, in which a dot stands for anything."""
    parts = [re.escape(part) for part in line.split("…")]
    return re.search(".*".join(parts), text, re.DOTALL) is not None
