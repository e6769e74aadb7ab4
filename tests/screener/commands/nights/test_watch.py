"""Progress on the terminal."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from screener.nightly.night import COMPILING, FINDING
from screener.nightly.reading.source import SORTING
from screener.settings.console import watched

COUNT = "7,155/11,136"


def shown(width: int, *steps: tuple[str, int, int]) -> dict[str, str]:
    """The line of each step on a terminal at the end."""
    screen = Console(file=io.StringIO(), force_terminal=True, width=width, color_system=None)
    with watched(screen) as watch:
        for step in steps:
            watch(*step)
    text = screen.file.getvalue()  # type: ignore[attr-defined]
    return {name: re.findall(rf"{name}[^\r\n]*", text)[-1] for name, _, _ in steps}


def test_a_step_that_is_over_says_that_it_is_done_and_how_long_it_took() -> None:
    lines = shown(80, ("reading the source", 0, 0), (SORTING, 3, 9), (FINDING, 7155, 11136))

    for name in ("reading the source", SORTING):
        assert re.search(r"done +\d:\d\d:\d\d *$", lines[name]), lines[name]
        assert "?" not in lines[name]
    assert COUNT in lines[FINDING]


@pytest.mark.parametrize("width", [80, 120])
def test_the_bar_of_each_step_has_room(width: int) -> None:
    steps = [(name, 7155, 11136) for name in (SORTING, COMPILING, FINDING)]
    lines = shown(width, *steps, ("sealing", 0, 0))

    for name, _, _ in steps:
        assert len(re.findall("\u2501", lines[name])) >= 25, lines[name]
