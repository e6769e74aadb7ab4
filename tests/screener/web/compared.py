"""A night and the night before it, of which a test chooses in what they differ."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.books import Content, Fields
from tests.resealed import reseal_next
from tests.service import copy_night

SESSION = dt.date(2012, 10, 4)
"""The session of the later night; the earlier one is the tests' own."""


def seal_later(
    night: Path,
    folder: Path,
    change: Callable[[Content], None],
    changes: Sequence[Fields] = (),
) -> None:
    """Put a copy of a night into a folder, and the night after it: the same, but changed."""
    copy_night(night, folder)
    reseal_next(folder, change, SESSION, changes)


def set_row(content: Content, rank: int, **fields: Any) -> None:
    """Change fields of a row of the scan."""
    content.scan[rank - 1] |= fields
