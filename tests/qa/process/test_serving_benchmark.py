"""The serving benchmark measures a real service over a book that was published."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from benchmarks.serving.__main__ import arguments, run
from benchmarks.serving.cases import OURS
from benchmarks.serving.report import report
from benchmarks.serving.stage import make_books


def test_a_run_sets_the_service_beside_a_floor_that_answers_alike(
    night: Path, tmp_path: Path
) -> None:
    wrk = shutil.which("wrk")
    if wrk is None:
        pytest.skip("wrk is not installed")
    books = make_books(night, tmp_path, 10)
    measured = run(books, wrk, arguments(["--only", "mcp-list-2026,start", "--rounds", "1"]))
    assert [contender.name for contender in measured.found] == ["ours", "route"]
    assert all(figures.cpu > 0 for figures in measured.found.values())
    memory = measured.fresh[OURS].memory
    # The share is that of all processes, the one that draws among them.
    assert 0 < memory.rss < 2 * memory.pss < 4 * memory.rss
    assert "mcp-list-2026: ours over route" in report(measured)
