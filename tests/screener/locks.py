"""What a lock pins."""

from __future__ import annotations

import re
from pathlib import Path


def pins(lock: Path) -> dict[str, set[str]]:
    """The versions of each package; a lock for all Pythons may hold two of one."""
    found: dict[str, set[str]] = {}
    for name, version in re.findall(r"^([a-z0-9-]+)==(\S+)", lock.read_text(), re.MULTILINE):
        found.setdefault(name, set()).add(version)
    return found
