"""Tasks of pools, which processes import by their name."""

from __future__ import annotations

import os
import time


def where(_number: int) -> int:
    """The process that worked on it."""
    time.sleep(0.01)
    return os.getpid()
