"""A release: its notes, and the folder that it replaces; what it builds is tested as a process."""

from __future__ import annotations

from pathlib import Path

import pytest

from release.__main__ import begin, replace, write
from release.bill import check
from release.notes import ReleaseError, notes

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


@pytest.mark.parametrize("left", [".draft/a.whl", "a.whl"])
def test_what_a_killed_release_left_is_replaced(tmp_path: Path, left: str) -> None:
    draft = begin(tmp_path)
    (tmp_path / left).write_text("half")  # killed while it was built, or while it was put in place

    again = begin(tmp_path)
    assert again == draft
    assert list(again.iterdir()) == []
    (again / "SHA256SUMS").write_text("whole")
    replace(tmp_path, again)
    assert [path.name for path in tmp_path.iterdir()] == ["SHA256SUMS"]


def test_a_release_with_a_folder_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "SHA256SUMS").write_text("whole")
    (tmp_path / "mine").mkdir()

    with pytest.raises(ReleaseError, match="something else"):
        begin(tmp_path)


def test_a_folder_of_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("mine")

    with pytest.raises(ReleaseError, match="something else"):
        write(ROOT, tmp_path, draft=True)
    assert (tmp_path / "letter.txt").read_text() == "mine"


def test_a_bill_against_the_schema_is_refused() -> None:
    with pytest.raises(ReleaseError, match="not valid"):
        check('{"bomFormat": "CycloneDX", "specVersion": "1.6", "components": 3}')
