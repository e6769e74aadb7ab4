"""Print every sentence that pages, tools and the command line show, for a reader to judge.

python -m tests.sentences [PLACE ...]

A sentence is a text of at least three words in a template or in the code of the product; a part
that is filled in is shown as …. Without a PLACE all of the product is read; a PLACE is a file or a
folder of it, such as `web` or `screener/commands/patterns/ticker.py`.
"""

from __future__ import annotations

import ast
import html
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROOMS = ("mcp_server", "rest_facade", "oauth", "screener", "store")
LEAST_WORDS = 3
WORDS = re.compile(r"[A-Za-z][a-z']+")
FILLED = re.compile(r"{{.*?}}|{%.*?%}|{#.*?#}", re.DOTALL)
MARKUP = re.compile(r"<(script|style)\b.*?</\1>|<[^>]*>", re.DOTALL)
SHOWN = re.compile(r'(?:alt|title|aria-label|placeholder|content)="([^"]*)"')


def main() -> None:
    """Print them, each file under its name."""
    places = [ROOT / place for place in sys.argv[1:]] or [ROOT / room for room in ROOMS]
    for path in sorted(file for place in places for file in files_of(place)):
        read = in_code if path.suffix == ".py" else in_template
        if found := list(dict.fromkeys(filter(is_sentence, read(path.read_text("utf-8"))))):
            lines = [f"\n{path.relative_to(ROOT)}", *(f"  {sentence}" for sentence in found)]
            sys.stdout.write("\n".join(lines) + "\n")


def files_of(place: Path) -> Iterator[Path]:
    """The files of a place that hold sentences."""
    if place.is_file():
        yield place
        return
    for ending in ("py", "html", "md"):
        yield from place.rglob(f"*.{ending}")


def is_sentence(text: str) -> bool:
    """Whether somebody reads it as words."""
    return len(WORDS.findall(text)) >= LEAST_WORDS and " " in text


def in_template(text: str) -> Iterator[str]:
    """The texts of a page."""
    shown = FILLED.sub("…", text)
    yield from map(html.unescape, SHOWN.findall(shown))
    for part in re.split(r"\n", MARKUP.sub("\n", shown)):
        yield " ".join(html.unescape(part).split())


def in_code(text: str) -> Iterator[str]:
    """The texts of a module that are no docstrings."""
    tree = ast.parse(text)
    silent = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr)
        for part in ast.walk(node)
        if isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            silent |= {id(part) for part in node.values}
            yield " ".join(_joined(node).split())
        elif isinstance(node, ast.Constant) and id(node) not in silent:
            yield " ".join(str(node.value).split())


def _joined(node: ast.JoinedStr) -> str:
    return "".join(
        str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values
    )


if __name__ == "__main__":
    main()
