"""A release: its notes, and the folder that it replaces; what it builds is tested as a process."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from release.__main__ import SUMS, ReleaseError, check_folder, notes, replace, write

ROOT = Path(__file__).parents[2]
CHANGELOG = """# Changelog

## Unreleased

## 1.1.0 - 2026-11-22

### Added

- A thing.

## 1.0.0 - 2026-10-01

- The first.
"""


def test_the_notes_are_what_stands_under_the_version() -> None:
    assert notes(CHANGELOG, "1.1.0") == "### Added\n\n- A thing.\n"
    assert notes(CHANGELOG, "1.0.0") == "- The first.\n"


@pytest.mark.parametrize("heading", ["1.1", "1.1.1", "1x0.0", "Unreleased"])
def test_a_version_without_notes_is_not_released(heading: str) -> None:
    with pytest.raises(ReleaseError, match=r"CHANGELOG\.md"):
        notes(CHANGELOG, heading)


@pytest.mark.parametrize("moved", [0, 1])
def test_what_a_release_leaves_that_was_killed_while_it_was_put_in_place_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moved: int
) -> None:
    folder, made = tmp_path / "dist", tmp_path / "made"
    for each in (folder, made):
        each.mkdir()
        for name in ("a.whl", SUMS, "z.json"):
            (each / name).write_text(each.name)
    move, moves = shutil.move, iter(range(moved))

    def killed(path: Path, to: Path) -> None:
        if next(moves, None) is None:
            raise KeyboardInterrupt
        move(path, to)

    monkeypatch.setattr(shutil, "move", killed)
    with pytest.raises(KeyboardInterrupt):
        replace(folder, made)
    monkeypatch.undo()
    check_folder(folder)
    (made / SUMS).write_text("made")
    replace(folder, made)

    assert {path.read_text() for path in folder.iterdir()} == {"made"}


def test_a_release_with_a_folder_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / SUMS).write_text("whole")
    (tmp_path / "mine").mkdir()

    with pytest.raises(ReleaseError, match="something else"):
        check_folder(tmp_path)


def test_a_folder_of_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("mine")

    with pytest.raises(ReleaseError, match="something else"):
        write(ROOT, tmp_path, draft=True)
    assert (tmp_path / "letter.txt").read_text() == "mine"
