"""The corpus: what once broke, one small file each, by the target that it is for.

`corpus/http` holds requests (see `tests.fuzz.exchange` for what `@` stands for); the other folders
hold files for the readers of these names.
"""

from __future__ import annotations

from pathlib import Path

from tests.fuzz.readers import Reader

FOLDER = Path(__file__).with_name("corpus")
HTTP = "http"


def cases(target: str) -> list[Path]:
    """The files for a target, by name."""
    return sorted(path for path in (FOLDER / target).glob("*") if path.is_file())


def target_of(path: Path, readers: list[Reader]) -> Reader | None:
    """The reader that a file is for, by its folder or by the name that a finding begins with; None
    if it is a request.
    """
    named = {reader.name: reader for reader in readers}
    return named.get(path.parent.name) or named.get(path.name.rpartition("-")[0])
