"""tests/threats.md: every test that it names exists, and so does every file of ours."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "tests" / "threats.md").read_text()
TESTS = re.findall(r"`([a-z_/]+\.py)::(test_[a-z0-9_]+)`", PAGE)
FILES = re.findall(r"`((?:mcp_server|oauth|screener|store|docs|tests)/[\w./]+)`", PAGE)


def test_the_page_names_tests_and_files() -> None:
    assert len(TESTS) > 60
    assert len(FILES) > 30


def test_every_test_that_answers_a_threat_exists() -> None:
    missing = [
        f"{file}::{name}"
        for file, name in TESTS
        if not (path := ROOT / "tests" / file).exists()
        or not re.search(rf"^(async )?def {name}\(", path.read_text(), re.MULTILINE)
    ]

    assert missing == []


def test_every_file_that_the_page_names_exists() -> None:
    assert [name for name in FILES if not (ROOT / name).exists()] == []


def test_every_threat_has_a_test() -> None:
    rows = re.findall(r"^\| (.+) \|$", PAGE.partition("## Threats")[2].partition("\n## ")[0], re.M)
    threats = [row for row in rows if not row.startswith(("threat |", "---"))]

    assert len(threats) > 30
    assert [row for row in threats if "::test_" not in row] == []
