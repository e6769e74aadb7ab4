"""The one decorator that compiles a kernel function, and where its machine code is cached.

Numba's own cache looks at the file of the cached function only: an edit in a module it calls
would go unnoticed. The folder is therefore named by a digest of every source that is compiled in,
so a cache can be missing but never stale, and a read-only installation can still have one. Files
are written under a temporary name and renamed by numba, so processes may compile side by side.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeAlias, TypeVar, cast

import numba
from numba.core import config

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

# A numpy record. Kernel functions say by a protocol which fields they expect of it.
Record: TypeAlias = Any

# Numba sets its settings at run time, so a type checker does not know their names.
SETTINGS = vars(config)

KERNEL = Path(__file__).parent
# The dtypes, enums and parameters are constants of the machine code as well.
COMPILED_IN = (
    *sorted(KERNEL.glob("*.py")),
    KERNEL.parent / "events.py",
    KERNEL.parent / "parameters.py",
)


def source_digest() -> str:
    """A short name for numba's version and all sources that end up in the machine code."""
    digest = hashlib.blake2b(numba.__version__.encode(), digest_size=10)
    for path in COMPILED_IN:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def cache_folder() -> Path:
    """Where this kernel's machine code goes: numba's own setting, the user's cache, or temp."""
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
    """Whether a folder can be had and is this user's own: what lies in it gets executed."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as probe:
            return os.fstat(probe.fileno()).st_uid == folder.lstat().st_uid
    except OSError:
        return False


def compiled(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Compile a function with numba: cached, without the GIL, IEEE arithmetic (no fast-math)."""
    compile_ = numba.njit(cache=True, nogil=True, error_model="numpy")
    return cast("Callable[Arguments, Result]", compile_(function))


SETTINGS["CACHE_DIR"] = str(cache_folder())
