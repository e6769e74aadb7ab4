"""Release: the files of one version, written into `dist/`.

`make release` writes the wheel and the sdist, the bills of what each kind of installation has, the
notes of the version, and the digests of all of these. One commit gives the same bytes each time:
the time in the archives is the commit's.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from release.bill import bill
from release.notes import UNRELEASED, ReleaseError, notes
from telemetry.version import VERSION

ROOT = Path(__file__).parents[1]
BILLS = ("serve", "run")
"""The locks that an operator installs: to serve alone, and to make nights too."""

SUMS = "SHA256SUMS"

DRAFT = ".draft"


def main() -> int:
    """Write a release; 1 if there is nothing to release."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m release")
    parser.add_argument("--draft", action="store_true", help=f"take the notes of {UNRELEASED}")
    parser.add_argument("--folder", type=Path, default=ROOT / "dist")
    asked = parser.parse_args()
    try:
        written = write(ROOT, asked.folder, draft=asked.draft)
    except ReleaseError as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    for path in written:
        print(path)
    return 0


def write(root: Path, folder: Path, *, draft: bool) -> list[Path]:
    """Write the files of a release into a folder of their own. Raises `ReleaseError`."""
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    said = notes(changelog, UNRELEASED if draft else VERSION)
    if not draft and (changed := git(root, "status", "--porcelain")):
        raise ReleaseError(f"Commit or undo what changed first:\n{changed}")
    draft_folder = begin(folder)
    bills = {lock: bill(root, lock, VERSION) for lock in BILLS}
    pack(root, draft_folder)
    for lock, text in bills.items():
        (draft_folder / f"{lock}.cdx.json").write_text(text, encoding="utf-8")
    (draft_folder / "NOTES.md").write_text(said, encoding="utf-8")
    (draft_folder / SUMS).write_text(digests(draft_folder), encoding="utf-8")
    replace(folder, draft_folder)
    return sorted(folder.iterdir())


def begin(folder: Path) -> Path:
    """An empty folder for a draft, in one that is empty or of a release; what a killed one left
    goes. Raises `ReleaseError`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    made, draft = list(folder.iterdir()), folder / DRAFT
    ours = not made or draft.exists() or (folder / SUMS).exists()
    if not ours or any(path.is_dir() for path in made if path != draft):
        raise ReleaseError(f"{folder} holds something else than a release; empty it first.")
    if draft.exists():
        shutil.rmtree(draft)
    draft.mkdir()
    return draft


def replace(folder: Path, draft: Path) -> None:
    """Put the files of a draft in the place of an earlier release."""
    for path in folder.iterdir():
        if path != draft:
            path.unlink()
    for path in draft.iterdir():
        path.rename(folder / path.name)
    draft.rmdir()


def pack(root: Path, folder: Path) -> None:
    """Build the sdist, and the wheel from it. Raises `ReleaseError`."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(root)]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": time_of(root)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ReleaseError(f"The build failed: {(done.stderr or done.stdout).strip()}")


def time_of(root: Path) -> str:
    """Seconds since 1970: SOURCE_DATE_EPOCH, or the time of the commit. Raises `ReleaseError`."""
    return os.environ.get("SOURCE_DATE_EPOCH") or git(root, "log", "-1", "--format=%ct")


def git(root: Path, *arguments: str) -> str:
    """What git says of the checkout. Raises `ReleaseError`."""
    command = ["git", "-C", str(root), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ReleaseError(f"A release is made from a checkout with git: {done.stderr.strip()}")
    return done.stdout.strip()


def digests(folder: Path) -> str:
    """The SHA-256 of each file, as `sha256sum --check` reads them."""
    return "".join(
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
        for path in sorted(folder.iterdir())
    )


if __name__ == "__main__":
    sys.exit(main())
