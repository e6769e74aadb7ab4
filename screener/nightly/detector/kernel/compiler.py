"""The decorator that compiles kernel functions, and the folder that caches their machine code.

Numba's own cache checks only the file of the cached function, so it misses an edit in a module that
the function calls. The cache folder is therefore named by a digest of every source that is compiled
in. A cache can be missing but never stale, and a read-only installation can still have one. Numba
writes files under a temporary name and renames them, so several processes may compile at once.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeAlias, TypeVar, cast

import numba

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

# A numpy record. Kernel functions declare the fields they expect of it as a protocol.
Record: TypeAlias = Any

# Numba defines its settings at run time, so a type checker does not know their names.
SETTINGS = vars(numba.config)

KERNEL = Path(__file__).parent
# The dtypes, enums and parameters are compiled in as constants too.
COMPILED_IN = (
    *sorted(KERNEL.glob("*.py")),
    KERNEL.parent / "events.py",
    KERNEL.parent / "judgement.csv",
    KERNEL.parent / "judgement.py",
    KERNEL.parent / "parameters.py",
)


def source_digest() -> str:
    """A digest of numba's version and all sources that are compiled into the machine code."""
    digest = hashlib.blake2b(numba.__version__.encode(), digest_size=10)
    for path in COMPILED_IN:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def cache_folder() -> Path:
    """The cache folder: under numba's own setting, the user's cache or the temporary folder."""
    name = f"kernel-{source_digest()}"
    if SETTINGS["CACHE_DIR"]:
        return Path(SETTINGS["CACHE_DIR"]) / name
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser())
    user = os.getuid() if hasattr(os, "getuid") else "user"
    for folder in (
        home / "pattern-screener" / name,
        Path(tempfile.gettempdir()) / f"pattern-screener-{user}-{name}",
    ):
        if is_ours(folder):
            return folder
    return Path(tempfile.mkdtemp(prefix=name))


def is_ours(folder: Path) -> bool:
    """Whether a folder is writable and owned by this user, since code in it will be executed."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as probe:
            return os.fstat(probe.fileno()).st_uid == folder.lstat().st_uid
    except OSError:
        return False


def is_compiled() -> bool:
    """Whether the cache has the machine code of the walk, so that nothing need be compiled."""
    return any(Path(SETTINGS["CACHE_DIR"]).rglob("walk.walk-*.nbc"))


def compiled(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Compile a function with numba: cached, without the GIL, IEEE arithmetic (no fast-math)."""
    compile_ = numba.njit(cache=True, nogil=True, error_model="numpy")
    return cast("Callable[Arguments, Result]", compile_(function))


SETTINGS["CACHE_DIR"] = str(cache_folder())
