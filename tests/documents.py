"""Tables of documents that the code knows better: each is between two marks of its page."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


def parts_of(page: str, mark: str) -> tuple[str, str, str]:
    """What is before a table, the table itself, and the rest."""
    before, opened, rest = page.partition(f"<!-- {mark} -->\n")
    table, closed, after = rest.partition(f"\n<!-- /{mark} -->")
    return before + opened, table, closed + after


def with_table(page: str, mark: str, table: str) -> str:
    """A page with another table between its marks."""
    before, _, after = parts_of(page, mark)
    return before + table + after


def check_page(file: Path, tables: Mapping[str, str]) -> None:
    """Hold the tables of a page against those of the code; `UPDATE_DOCS=1` writes them first."""
    page = file.read_text(encoding="utf-8")
    for mark, table in tables.items():
        page = with_table(page, mark, table)
    if os.environ.get("UPDATE_DOCS"):
        file.write_text(page, encoding="utf-8")
    assert page == file.read_text(encoding="utf-8")


def row(*cells: str) -> str:
    """A row of a table of Markdown."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
