"""What is dear to make is made once a run, by whichever worker needs it first."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """A folder that `make` has filled, the same one for all workers; to be read only.

    A `make` that fails leaves nothing behind, so that the next worker tells its own failure.
    """
    run = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        run = run.parent
    folder = run / f"once-{name}"
    with FileLock(run / f"once-{name}.lock"):
        if not folder.exists():
            half = factory.mktemp(name)
            make(half)
            half.rename(folder)
    return folder
