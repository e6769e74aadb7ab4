"""The requirements of the interface specification, and the tests that state that they prove them.

Both are read from files only: neither the service nor another test is run for it.
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[1]
MANIFEST = Path(__file__).with_name("requirements.toml")
IDENTIFIER = re.compile(r"[A-Z]+-[\w.-]+")
CODE = re.compile(r"`([^`]+)`")


@dataclass(frozen=True)
class Section:
    """The requirements of one section, and the digest of the text they were read from."""

    heading: str
    read: str
    requirements: Mapping[str, str]
    """What is required, a sentence or table row of the specification, by its id."""

    @property
    def codes(self) -> set[str]:
        """All code spans in its requirements."""
        return set(CODE.findall("\n".join(self.requirements.values())))


@dataclass(frozen=True)
class Chapter:
    """A section of the specification itself."""

    heading: str
    lines: list[str] = field(default_factory=list)

    @property
    def digest(self) -> str:
        """A digest of its text that does not depend on line breaks."""
        text = " ".join(" ".join(self.lines).split())
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @property
    def rows(self) -> list[list[str]]:
        """The cells of its tables, row by row, without the head rows."""
        tables = [line for line in self.lines if line.startswith("|")]
        rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in tables]
        rules = [n for n, row in enumerate(rows) if set("".join(row)) <= set("-: ")]
        heads = {n - 1 for n in rules} | set(rules)
        return [row for n, row in enumerate(rows) if n not in heads]

    @property
    def codes(self) -> set[str]:
        """All code spans in its prose and tables."""
        return set(CODE.findall(" ".join(self.lines)))

    @property
    def numbered(self) -> list[int]:
        """The item numbers of its list."""
        found = (re.match(r"(\d+)\. ", line) for line in self.lines)
        return [int(match[1]) for match in found if match]


def sections() -> list[Section]:
    """The sections of the manifest, in order."""
    with MANIFEST.open("rb") as file:
        content = tomllib.load(file)
    found = []
    for heading, entries in content.items():
        flat = dict(_flat(entries))
        found.append(Section(heading, flat.pop("read"), flat))
    return found


def _flat(entries: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    # A dot in an unquoted TOML key opens a table, so `ME-key.name` is joined again.
    for name, entry in entries.items():
        if isinstance(entry, dict):
            yield from _flat(entry, f"{prefix}{name}.")
        else:
            yield prefix + name, entry


@cache
def requirements() -> dict[str, str]:
    """What is required, by the id of each requirement."""
    return {name: says for section in sections() for name, says in section.requirements.items()}


@cache
def proofs() -> dict[str, list[str]]:
    """The places that name each id in a `proves(...)` marker, found without importing a test."""
    found: dict[str, list[str]] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and _is_marker(node.func):
                for name in _ids(node, path):
                    found.setdefault(name, []).append(f"{path.relative_to(TESTS)}:{node.lineno}")
    return found


def _is_marker(function: ast.expr) -> bool:
    return isinstance(function, ast.Attribute) and function.attr == "proves"


def _ids(call: ast.Call, path: Path) -> Iterator[str]:
    for argument in call.args:
        if not isinstance(argument, ast.Constant) or not isinstance(argument.value, str):
            raise TypeError(f"{path}:{call.lineno}: proves() takes ids written out as texts")
        yield argument.value


def specification() -> Path:
    """The path of the interface specification, which may not exist."""
    shared = os.environ.get("SCREENER_SHARED") or TESTS.parents[1] / "shared"
    return Path(shared) / "interface.md"


def chapters(path: Path) -> list[Chapter]:
    """The sections of the specification, from its first requirement on."""
    found: list[Chapter] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if heading := re.match(r"#{2,4} (.+)", line):
            found.append(Chapter(heading[1]))
        elif found:
            found[-1].lines.append(line)
    return [chapter for chapter in found if any(line.strip() for line in chapter.lines)]
