"""Print every sentence that pages, tools and the command line show, for a reader to judge.

python -m tests.sentences [--odd] [PLACE ...]

A sentence is a text of at least three words in a template, in the code of the product, or in a
docstring that the program shows: the help of a command, a setting, a field of a response. A part
that is filled in is shown as …. Without a PLACE all of the product is read; a PLACE is a file or a
folder, such as `screener/web`, `screener/commands/patterns/ticker.py` or `docs`. With --odd only
sentences are printed that `tests/screener/test_words.py` refuses, each with the reason.
"""

from __future__ import annotations

import ast
import html
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROOMS = ("mcp_server", "rest_facade", "oauth", "screener", "store")
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "docs")
ENDINGS = ("py", "html", "md", "j2", "toml")
SHOWN_DOCSTRINGS = (
    *("screener/commands", "screener/doctor/doctor.py", "screener/notify/notify.py"),
    *("screener/settings/settings.py", "store/wire/records.py"),
)
"""Places whose public docstrings the program shows."""

DEFINED = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
MIN_WORDS = 3
MAX_WORDS = 35
"""Words of a sentence that can be read once."""
LISTED = 8
"""Commas in a text that is a list."""

CODE = re.compile(
    r"^(SELECT|INSERT|CREATE|PRAGMA|SET LOCAL|default-src|HTTP/1)\b|^#|^[\w.+-]+( [\w.+-]+){25,}$"
)
"""Texts that are statements, comments or lists of words."""
THINGS = (
    "it|which|that|page|pages|report|error|errors|message|messages|answer|response|log|lines?|night"
    "|record|field|header|file|table|list|document|documents|text|row|rows|setting|option|summary"
    "|sentence|form|book|ledger|column|code|name|verdict|reason|fix|nothing|doctor|readme|`"
)
ODD = {
    "a plural of 1": re.compile(r"(?<![\w.,:-])1 (?!is\b|has\b|was\b)[a-z]+s\b(?!\()"),
    "alone for only": re.compile(
        r"(?<!leave it )(?<!leave that )(?<!stand )\balone\b(?! it means)"
    ),
    "a thing that says": re.compile(
        rf"(?:\b(?:{THINGS})|`) (?:also |still )?(?:says?|said)\b", re.I
    ),
    "says so": re.compile(r"\b(?:says (?:so|otherwise)|say otherwise)\b"),
}
"""What a program can see of a sentence that must be read twice."""

WORDS = re.compile(r"[A-Za-z][a-z']+")
FILLED = re.compile(r"{{.*?}}|{%.*?%}|{#.*?#}", re.DOTALL)
MARKUP = re.compile(r"<(script|style)\b.*?</\1>|<[^>]*>", re.DOTALL)
SHOWN = re.compile(r'(?:alt|title|aria-label|placeholder|content)="([^"]*)"')


def main() -> None:
    """Print them, each file under its name."""
    arguments = sys.argv[1:]
    odd = "--odd" in arguments
    for path, found in sentences([name for name in arguments if name != "--odd"] or ROOMS):
        if odd:
            found = [f"{why}: {text}" for text in found for why in oddities(text)]
        if found:
            lines = [f"\n{path}", *(f"  {sentence}" for sentence in found)]
            sys.stdout.write("\n".join(lines) + "\n")


def sentences(places: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """The texts of some places, by file, each once."""
    for path in sorted(file for place in places for file in files_of(ROOT / place)):
        name = path.relative_to(ROOT).as_posix()
        text = path.read_text("utf-8")
        if path.suffix == ".py":
            found = list(in_code(text))
            if name.startswith(SHOWN_DOCSTRINGS):
                found += docstrings(text)
        else:
            found = list(in_template(text))
        yield name, list(dict.fromkeys(filter(is_sentence, found)))


def oddities(text: str) -> Iterator[str]:
    """Why a text must be read twice, as far as a program can see it."""
    if CODE.search(text):
        return
    for why, pattern in ODD.items():
        if pattern.search(text):
            yield why
    for sentence in re.split(r"(?<=[.!?:;]) |\n| \| |<br>", text):
        if len(sentence.split()) > MAX_WORDS and sentence.count(",") < LISTED:
            yield f"over {MAX_WORDS} words"
            return


def docstrings(text: str) -> Iterator[str]:
    """The public docstrings of a module, in paragraphs."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, DEFINED) or node.name.startswith("_"):
            continue
        for part in node.body:
            if isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant):
                for paragraph in re.split(r"\n\s*\n", str(part.value.value)):
                    if "\b" not in paragraph and "Raises:" not in paragraph:
                        yield " ".join(paragraph.split())


def files_of(place: Path) -> Iterator[Path]:
    """The files of a place that hold sentences."""
    if place.is_file():
        yield place
        return
    for ending in ENDINGS:
        yield from place.rglob(f"*.{ending}")


def is_sentence(text: str) -> bool:
    """Whether somebody reads it as words."""
    return len(WORDS.findall(text)) >= MIN_WORDS and " " in text


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
