"""Footprint: what an image holds beside its base system, file by file summed.

`python -m benchmarks.footprint` installs both images of deploy/docker/Dockerfile into a temporary
folder, by the same script and with the same bytecode, and prints the largest parts in MB (10^6
bytes). Python counts as in the slim images: stripped, without its tests, static library and pip.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
DOCKER = ROOT / "deploy" / "docker"
BOUNDS = {"serve": 220.0, "full": 600.0}
"""The most that an image may hold, MB."""

LOCKS = {"serve": "serve", "full": "run"}
MAX_PACKAGES = 12
LEFT_OUT = {"__pycache__", "dist-packages", "idle_test", "site-packages", "test", "tests"}
"""Folders of the standard library that the slim images do not have."""


@dataclass(frozen=True)
class Footprint:
    """The parts of an image, in MB."""

    parts: Mapping[str, float]

    @property
    def total(self) -> float:
        """Their sum, MB."""
        return sum(self.parts.values())

    def lines(self) -> list[str]:
        """The largest parts, the others together, and the sum."""
        ranked = sorted(self.parts.items(), key=lambda part: -part[1])
        others = sum(size for _name, size in ranked[MAX_PACKAGES:])
        rows = [
            *ranked[:MAX_PACKAGES],
            (f"{len(ranked[MAX_PACKAGES:])} others", others),
            ("sum", self.total),
        ]
        return [f"{size:7.1f}  {name}" for name, size in rows]


def wheel(folder: Path) -> Path:
    """Build the wheel into a folder."""
    command = [sys.executable, "-m", "uv", "build", "--python", sys.executable, "--offline"]
    options = ["--wheel", "--no-build-isolation", "--no-create-gitignore", "--out-dir", str(folder)]
    subprocess.run([*command, *options, str(ROOT)], check=True, capture_output=True)
    return next(folder.glob("*.whl"))


def install(image: str, built: Path, folder: Path) -> Path:
    """Make the environment of an image as its Dockerfile does; its folder."""
    environment = folder / image
    lock = ROOT / "locks" / f"{LOCKS[image]}.lock"
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    command = [str(DOCKER / "install"), str(lock), str(built), str(environment)]
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, "PATH": path})
    return environment


def warm(environment: Path, bytecode: Path) -> None:
    """Write the bytecode of an environment as its Dockerfile does."""
    kept = ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH")
    variables = {name: value for name, value in os.environ.items() if name not in kept}
    variables["PYTHONPYCACHEPREFIX"] = str(bytecode)
    command = [str(environment / "bin" / "python"), str(DOCKER / "warm.py")]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=variables)


def footprint(environment: Path, bytecode: Path) -> Footprint:
    """The parts of an environment with its bytecode, and Python."""
    site = next(environment.glob("lib/python*/site-packages"))
    parts = {
        found.metadata["Name"]: megabytes(Path(str(file.locate())) for file in found.files or ())
        for found in distributions(path=[str(site)])
    }
    return Footprint({**parts, "(bytecode)": megabytes(bytecode.rglob("*")), "(Python)": python()})


def megabytes(files: Iterable[Path]) -> float:
    """The size of those that are there."""
    return sum(file.stat().st_size for file in files if file.is_file()) / 1e6


def python() -> float:
    """The size of a slim Python of the version that runs this, MB."""
    library = Path(sysconfig.get_path("stdlib"))
    machine_code = [Path(sys.executable).resolve()]
    if shared := sysconfig.get_config_var("INSTSONAME"):
        machine_code += Path(sysconfig.get_config_var("LIBDIR")).glob(shared)
    kept: list[Path] = []
    for folder, names, files in os.walk(library):
        names[:] = [n for n in names if n not in LEFT_OUT and not n.startswith("config-")]
        for name in files:
            listed = machine_code if name.endswith(".so") else kept
            listed.append(Path(folder, name))
    return megabytes(kept) + sum(map(stripped, machine_code))


def stripped(file: Path) -> float:
    """The size of machine code without its symbols, MB."""
    with TemporaryDirectory() as folder:
        target = Path(folder) / file.name
        subprocess.run(["strip", "--strip-unneeded", "-o", str(target), str(file)], check=True)
        return target.stat().st_size / 1e6


def main() -> int:
    """Print both; 1 if one holds more than it may."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        built, fits = wheel(folder), True
        for image, bound in BOUNDS.items():
            environment, bytecode = install(image, built, folder), folder / f"{image}-bytecode"
            warm(environment, bytecode)
            found = footprint(environment, bytecode)
            print(f"{image} (at most {bound:.0f} MB)", *found.lines(), "", sep="\n")
            fits = fits and found.total <= bound
    return not fits


if __name__ == "__main__":
    sys.exit(main())
