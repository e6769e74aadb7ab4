"""Version: an identifier of the code that made a book."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import resources
from pathlib import Path


@cache
def code_version() -> str:
    """A digest of every source file that shapes a book, so an edit makes another data version."""
    digest = hashlib.sha256()
    for package in ("screener.nightly", "store"):
        root = Path(str(resources.files(package)))
        for path in sorted(p for p in root.rglob("*") if p.suffix in (".py", ".sql", ".csv")):
            digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]
