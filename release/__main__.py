"""Release: the files of one version, written into `dist/`.

`make release` writes the wheel and the sdist, the bills of what each kind of installation has
(CycloneDX, ECMA-424), the notes of the version, and the digests of all of these. One commit gives
the same bytes each time: the time in the archives is the commit's, and a bill has no time.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from screener.telemetry.version import VERSION

ROOT = Path(__file__).parents[1]
BILLS = ("serve", "run")
"""The locks that an operator installs: to serve alone, and to make nights too."""

SUMS = "SHA256SUMS"
UNRELEASED = "Unreleased"


class ReleaseError(Exception):
    """Nothing can be released; the text says what to do first."""


def main() -> int:
    """Write a release; 1 if there is nothing to release."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m release")
    parser.add_argument("--draft", action="store_true", help=f"take the notes of {UNRELEASED}")
    parser.add_argument("--folder", type=Path, default=ROOT / "dist")
    asked = parser.parse_args()
    try:
        write(ROOT, asked.folder, draft=asked.draft)
    except ReleaseError as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    print(*sorted(asked.folder.iterdir()), sep="\n")
    return 0


def write(root: Path, folder: Path, *, draft: bool) -> None:
    """Write the files of a release into a folder of their own. Raises `ReleaseError`."""
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    texts = {"NOTES.md": notes(changelog, UNRELEASED if draft else VERSION)}
    if not draft and (changed := _git(root, "status", "--porcelain")):
        raise ReleaseError(f"Commit or undo what changed first:\n{changed}")
    check_folder(folder)
    texts |= {f"{lock}.cdx.json": bill(root, lock) for lock in BILLS}
    with TemporaryDirectory() as made:
        pack(root, Path(made))
        for name, text in texts.items():
            (Path(made) / name).write_text(text, encoding="utf-8")
        (Path(made) / SUMS).write_text(_digests(Path(made)), encoding="utf-8")
        replace(folder, Path(made))


def notes(changelog: str, heading: str) -> str:
    """The part under `## HEADING`, or `## HEADING - DATE`, as Markdown of its own.

    Raises:
        ReleaseError: there is no such heading, or nothing is under it.
    """
    match = re.search(
        rf"^## \[?{re.escape(heading)}\]?(?: - \d{{4}}-\d\d-\d\d)?\n(.*?)(?=^## |\Z)",
        changelog,
        re.MULTILINE | re.DOTALL,
    )
    if match is None:
        raise ReleaseError(
            f"CHANGELOG.md has no heading `## {heading} - DATE`; rename {UNRELEASED!r}, or try a "
            "release out with DRAFT=1."
        )
    if not match[1].strip():
        raise ReleaseError(f"CHANGELOG.md says nothing under {heading}.")
    return f"{match[1].strip()}\n"


def bill(root: Path, lock: str) -> str:
    """The software bill of materials of `locks/LOCK.lock`, each part with the hashes that an
    installation accepts. Raises `ReleaseError`.
    """
    command = [sys.executable, "-m", "cyclonedx_py", "requirements", f"locks/{lock}.lock"]
    options = ["--pyproject", "pyproject.toml", "--sv", "1.6", "--output-reproducible"]
    made = json.loads(_output([*command, *options], root, f"There is no bill of {lock}.lock"))
    ours = made["metadata"]["component"]
    ours["version"] = VERSION
    (node,) = (node for node in made["dependencies"] if node["ref"] == ours["bom-ref"])
    node["dependsOn"] = sorted(part["bom-ref"] for part in made["components"])
    return f"{json.dumps(made, indent=2, sort_keys=True)}\n"


def pack(root: Path, folder: Path) -> None:
    """Build the sdist, and the wheel from it. Raises `ReleaseError`."""
    when = os.environ.get("SOURCE_DATE_EPOCH") or _git(root, "log", "-1", "--format=%ct")
    command = [sys.executable, "-m", "uv", "build", "--python", sys.executable, "--offline"]
    options = ["--no-build-isolation", "--no-create-gitignore", "--out-dir", str(folder)]
    _output([*command, *options], root, "The build failed", SOURCE_DATE_EPOCH=when)


def check_folder(folder: Path) -> None:
    """Refuse a folder that has something else than a release, whole or not. Raises
    `ReleaseError`.
    """
    present = list(folder.iterdir()) if folder.exists() else []
    if present and (not (folder / SUMS).exists() or any(path.is_dir() for path in present)):
        raise ReleaseError(f"{folder} holds something else than a release; empty it first.")


def replace(folder: Path, made: Path) -> None:
    """Put files in the place of an earlier release. Whenever this is killed, the folder is empty or
    has its digests, by which the next release knows it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted(folder.iterdir(), key=lambda path: path.name == SUMS):
        path.unlink()
    for path in sorted(made.iterdir(), key=lambda path: path.name != SUMS):
        shutil.move(path, folder / path.name)


def _digests(folder: Path) -> str:
    """The SHA-256 of each file, as `sha256sum --check` reads them."""
    return "".join(
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
        for path in sorted(folder.iterdir())
    )


def _git(root: Path, *arguments: str) -> str:
    return _output(["git", *arguments], root, "A release is made from a checkout with git")


def _output(command: list[str], root: Path, fault: str, **environment: str) -> str:
    """What a program prints that is run in a folder. Raises `ReleaseError`."""
    done = subprocess.run(
        command,
        cwd=root,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise ReleaseError(f"{fault}: {(done.stderr or done.stdout).strip()}")
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
