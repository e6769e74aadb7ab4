"""A release as it is built: the files of one version."""

from __future__ import annotations

import hashlib
import json
import subprocess
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from release.__main__ import bill, pack, write
from screener.telemetry.version import VERSION
from tests.screener.locks import pins

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("release")
    write(ROOT, folder, draft=True)
    return folder


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
    assert packages == {"mcp_server", "oauth", "rest_facade", "screener", "store"}
    assert f"pattern_screener-{VERSION}.dist-info/METADATA" in names


def test_the_wheel_stands_beside_packages_with_modules_of_common_names(
    released: Path, tmp_path: Path
) -> None:
    """Whichever is installed first or removed, no file of the other changes."""
    theirs = [other_wheel(tmp_path, name) for name in ("web", "nightly", "telemetry")]
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"

    def pip(*words: str | Path) -> None:
        subprocess.run([python, "-m", "pip", "--quiet", *words], check=True)

    pip("install", "--no-deps", "--no-index", *theirs, next(released.glob("*.whl")))
    said = "import web, nightly, telemetry; print(web.NAME, nightly.NAME, telemetry.NAME)"
    assert subprocess.check_output([python, "-c", said], text=True).split() == [
        "web", "nightly", "telemetry",
    ]  # fmt: skip

    pip("uninstall", "--yes", "other-web", "other-nightly", "other-telemetry")
    wheel = zipfile.ZipFile(next(released.glob("*.whl")))
    [installed] = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    kept = [name for name in wheel.namelist() if name.startswith("screener/")]
    assert len(kept) > 100
    assert all((installed / name).read_bytes() == wheel.read(name) for name in kept)


def other_wheel(folder: Path, name: str) -> Path:
    """A wheel of somebody else that brings one module of this name."""
    about = f"other_{name}-1.0.dist-info"
    files = {
        f"{name}/__init__.py": f"NAME = {name!r}\n",
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: other-{name}\nVersion: 1.0\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{file},,\n" for file in (*files, f"{about}/RECORD"))
    path = folder / f"other_{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for file, text in {**files, f"{about}/RECORD": record}.items():
            wheel.writestr(file, text)
    return path


def test_the_sdist_has_what_tests_and_operators_need(released: Path) -> None:
    with tarfile.open(next(released.glob("*.tar.gz"))) as archive:
        parts = {name.partition("/")[2].partition("/")[0] for name in archive.getnames()}

    assert parts >= {"Makefile", "deploy", "docs", "examples", "locks", "tests", "CHANGELOG.md"}


@pytest.mark.parametrize("lock", ["serve", "run"])
def test_a_bill_names_every_pin_and_the_version(released: Path, lock: str) -> None:
    text = (released / f"{lock}.cdx.json").read_text()
    bill = json.loads(text)
    named = {(part["name"], part["version"]) for part in bill["components"]}

    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    assert bill["metadata"]["component"]["version"] == VERSION
    assert {name for name, _version in named} == set(pins(ROOT / f"locks/{lock}.lock"))


def test_one_source_gives_the_same_bytes_again(released: Path, tmp_path: Path) -> None:
    pack(ROOT, tmp_path)
    (tmp_path / "serve.cdx.json").write_text(bill(ROOT, "serve"), encoding="utf-8")

    assert len(list(tmp_path.iterdir())) == 3
    for path in tmp_path.iterdir():
        assert path.read_bytes() == (released / path.name).read_bytes(), path.name


def test_the_digests_are_those_of_every_other_file(released: Path) -> None:
    lines = (released / "SHA256SUMS").read_text().splitlines()
    digests = {name: digest for digest, name in (line.split("  ") for line in lines)}

    assert digests == {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in released.iterdir()
        if path.name != "SHA256SUMS"
    }
