"""A release: the files of one version."""

from __future__ import annotations

import hashlib
import json
import tarfile
import zipfile
from pathlib import Path

import pytest

from release.__main__ import begin, replace, write
from release.bill import check
from release.notes import ReleaseError, notes
from telemetry.version import VERSION
from tests.screener.test_locks import pins

ROOT = Path(__file__).parents[2]
CHANGELOG = """# Changelog

## Unreleased

## 1.1.0 - 2026-11-22

### Added

- A thing.

## 1.0.0 - 2026-10-01

- The first.
"""


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("release")
    write(ROOT, folder, draft=True)
    return folder


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


def test_the_wheel_holds_every_file_of_the_packages_and_nothing_else(released: Path) -> None:
    names = zipfile.ZipFile(next(released.glob("*.whl"))).namelist()
    packages = {n.partition("/")[0] for n in names if ".dist-info/" not in n}
    files = {
        path.relative_to(ROOT).as_posix()
        for package in packages
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }

    assert {n for n in names if ".dist-info/" not in n} == files
    assert not packages & {"tests", "benchmarks", "release", "deploy", "docs"}
    assert f"pattern_screener-{VERSION}.dist-info/METADATA" in names


def test_the_sdist_has_what_tests_and_operators_need(released: Path) -> None:
    with tarfile.open(next(released.glob("*.tar.gz"))) as archive:
        parts = {name.partition("/")[2].partition("/")[0] for name in archive.getnames()}

    assert parts >= {"Makefile", "deploy", "docs", "examples", "locks", "tests", "CHANGELOG.md"}


@pytest.mark.parametrize("lock", ["serve", "run"])
def test_a_bill_names_every_pin_and_the_version(released: Path, lock: str) -> None:
    text = (released / f"{lock}.cdx.json").read_text()
    bill = json.loads(text)
    named = {(part["name"], part["version"]) for part in bill["components"]}

    check(text)
    assert bill["metadata"]["component"]["version"] == VERSION
    assert {name for name, _version in named} == set(pins(ROOT / f"locks/{lock}.lock"))


def test_a_bill_against_the_schema_is_refused() -> None:
    with pytest.raises(ReleaseError, match="not valid"):
        check('{"bomFormat": "CycloneDX", "specVersion": "1.6", "components": 3}')


def test_one_source_gives_the_same_bytes_again(released: Path, tmp_path: Path) -> None:
    write(ROOT, tmp_path, draft=True)

    assert (tmp_path / "SHA256SUMS").read_text() == (released / "SHA256SUMS").read_text()
    for line in (released / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split("  ")
        assert hashlib.sha256((released / name).read_bytes()).hexdigest() == digest
