"""The serving benchmark measures a real service over a book that was published."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from benchmarks.serving.__main__ import contenders
from benchmarks.serving.fresh import Fresh
from benchmarks.serving.load import Loader
from benchmarks.serving.report import CONNECTIONS, Measured, report
from benchmarks.serving.rounds import measure
from benchmarks.serving.stage import build


def test_a_round_sets_the_service_beside_a_floor_that_answers_alike(
    night: Path, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        stage = build(stack, night, tmp_path, [10], None, ["rest-patterns"])
        found = measure(contenders(stage, CONNECTIONS), Loader(wrk=None), stage.keys, 1, 1)
        memory = stage.largest.memory()
    assert [contender.name for contender in found] == ["ours", "bare"]
    for figures in found.values():
        assert figures.cpu > 0
        assert figures.runs[0].requests > 0
        assert figures.runs[0].refused == 0
    # The share is that of all processes, the one that draws among them.
    assert 0 < memory.rss < 2 * memory.pss < 4 * memory.rss
    text = report(Measured(found, {}, Fresh(10, [1.0], [0.5], memory)))
    assert "rest-patterns over bare" in text
