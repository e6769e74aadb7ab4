"""The clients of others, installed as locked: two Python environments, and what npm has."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from tests.node import Node, install_node, install_python

HERE = Path(__file__).parent
ENVIRONMENTS = ("hosts", "hosts-sdk1")


@dataclass(frozen=True)
class Installed:
    """Where the clients are."""

    folder: Path

    def python(self, environment: str) -> str:
        """The Python of an environment."""
        return str(self.folder / environment / "bin" / "python")

    @property
    def node(self) -> str:
        """Node."""
        return Node(self.folder / "with-node").program

    @property
    def modules(self) -> Path:
        """The folder of what npm installed."""
        return self.programs / "node_modules"

    @property
    def programs(self) -> Path:
        """The programs, where Node finds what they import."""
        return self.folder / "programs"


def install(folder: Path) -> Installed:
    """Install every client into a folder. Raises `NotInstalledError`."""
    installed = Installed(folder)
    for environment in ENVIRONMENTS:
        install_python(folder / environment, environment)
    shutil.copytree(HERE / "programs", installed.programs)
    for file in ("package.json", "package-lock.json"):
        shutil.copy(HERE / file, installed.programs)
    install_node(folder / "with-node").install(installed.programs)
    return installed
