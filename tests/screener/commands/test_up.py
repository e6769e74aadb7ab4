"""`screener up`: what it refuses, and whom it opens the pages to; `tests/qa/process` starts it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from screener.commands.up import opened
from screener.settings.settings import Settings
from tests.screener.command import check_refusal, run


def test_bars_or_a_session_that_are_none_are_refused_before_anything_starts(tmp_path: Path) -> None:
    none = run(tmp_path / "data", "up", "--bars", str(tmp_path / "none"))
    soon = run(tmp_path / "data", "up", "--bars", str(tmp_path), "--session", "soon")

    check_refusal(none, "does not exist")
    check_refusal(soon, "--session 'soon' is not a date")
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("option", ["--bars", "--reference"])
def test_a_path_that_the_shell_left_as_it_is_begins_at_home(tmp_path: Path, option: str) -> None:
    home = str(tmp_path)
    absent = run(tmp_path / "data", "up", "--bars", home, option, "~/none", HOME=home)

    check_refusal(absent, f'"{tmp_path / "none"}" does not exist')


@pytest.mark.parametrize(
    ("settings", "is_open"),
    [
        ({}, True),
        ({"host": "localhost"}, True),
        ({"host": "::1"}, True),
        ({"host": "192.0.2.7"}, False),
        ({"host": "screener.example"}, False),
        ({"public_url": "https://screener.example.com"}, False),
        ({"trusted_proxies": ("127.0.0.1",)}, False),
        ({"open_pages": False}, False),
        ({"host": "192.0.2.7", "open_pages": True}, True),
    ],
)
def test_up_opens_the_pages_of_a_machine_that_nobody_else_reaches(
    tmp_path: Path, settings: dict[str, Any], is_open: bool
) -> None:
    assert opened(Settings(data_dir=tmp_path, **settings)).open_pages is is_open
