"""The locks: everything by its hash, from no particular place."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.node import LOCKED_BY_NPM
from tests.screener.locks import pins

ROOT = Path(__file__).parents[2]
LOCKS = sorted((ROOT / "locks").glob("*.lock"))
NPM = [ROOT / folder / "package-lock.json" for folder in LOCKED_BY_NPM]
WHAT_TESTS_NEED = {"pytest", "mypy", "ruff", "playwright", "hypothesis", "schemathesis"}


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.stem)
def test_a_lock_pins_by_hash_and_names_no_place(lock: Path) -> None:
    text = lock.read_text()
    entries = re.split(r"^(?=\w)", text, flags=re.MULTILINE)[1:]

    assert entries
    assert all("==" in entry and "--hash=sha256:" in entry for entry in entries)
    assert "://" not in text
    assert "index-url" not in text


@pytest.mark.parametrize("lock", NPM, ids=lambda lock: lock.parent.name)
def test_a_lock_of_npm_pins_by_digest_and_names_no_registry(lock: Path) -> None:
    text = lock.read_text(encoding="utf-8")
    packages = [package for name, package in json.loads(text)["packages"].items() if name]

    assert packages
    assert all(package["integrity"].startswith("sha512-") for package in packages)
    assert '"resolved"' not in text
    assert "registry." not in text


def test_every_folder_of_npm_packages_is_locked() -> None:
    found = {
        file.parent
        for folder in ("benchmarks", "tests")
        for file in (ROOT / folder).rglob("package.json")
        if "node_modules" not in file.parts
    }

    assert found == {lock.parent for lock in NPM}


def test_serving_and_the_nightly_install_nothing_that_only_tests_need() -> None:
    assert WHAT_TESTS_NEED & set(pins(ROOT / "locks/run.lock")) == set()
    assert set(pins(ROOT / "locks/dev.lock")) >= WHAT_TESTS_NEED


@pytest.mark.parametrize("name", ["run", "providers"])
def test_what_is_tested_is_what_is_installed(name: str) -> None:
    tested, installed = pins(ROOT / "locks/dev.lock"), pins(ROOT / f"locks/{name}.lock")

    both = tested.keys() & installed.keys()
    assert {p: installed[p] for p in both} == {p: tested[p] for p in both}
