"""The locks: everything by its hash, from no particular place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOCKS = sorted((ROOT / "locks").glob("*.lock"))
WHAT_TESTS_NEED = {"pytest", "mypy", "ruff", "playwright", "hypothesis", "schemathesis"}


def pins(lock: Path) -> dict[str, set[str]]:
    """The versions of each package; a lock for all Pythons may hold two of one."""
    found: dict[str, set[str]] = {}
    for name, version in re.findall(r"^([a-z0-9-]+)==(\S+)", lock.read_text(), re.MULTILINE):
        found.setdefault(name, set()).add(version)
    return found


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.stem)
def test_a_lock_pins_by_hash_and_names_no_place(lock: Path) -> None:
    text = lock.read_text()
    entries = re.split(r"^(?=\w)", text, flags=re.MULTILINE)[1:]

    assert entries
    assert all("==" in entry and "--hash=sha256:" in entry for entry in entries)
    assert "://" not in text
    assert "index-url" not in text


def test_serving_and_the_nightly_install_nothing_that_only_tests_need() -> None:
    assert WHAT_TESTS_NEED & set(pins(ROOT / "locks/run.lock")) == set()
    assert set(pins(ROOT / "locks/dev.lock")) >= WHAT_TESTS_NEED


@pytest.mark.parametrize("name", ["run", "providers"])
def test_what_is_tested_is_what_is_installed(name: str) -> None:
    tested, installed = pins(ROOT / "locks/dev.lock"), pins(ROOT / f"locks/{name}.lock")

    both = tested.keys() & installed.keys()
    assert {p: installed[p] for p in both} == {p: tested[p] for p in both}
