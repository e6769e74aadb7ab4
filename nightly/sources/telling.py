"""Telling: what the report says about a source, and progress while it is sorted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from nightly.errors import Refusal
from nightly.sources.forms import Read

SORTING: Final = "sorting the bars by symbol"
MAX_TOLD: Final = 40
"""The most columns that the report lists."""

Step = Callable[[str, int, int], None]


def silent(_name: str, _done: int, _total: int) -> None:
    """Report no progress."""


@dataclass(slots=True)
class Told:
    """The number of files of each form, how columns were used, and which files were left out."""

    forms: Counter[str] = field(default_factory=Counter)
    columns: dict[str, str] = field(default_factory=dict)
    left: dict[str, Refusal] = field(default_factory=dict)
    """By file: why it was left out, where that refuses no symbol of its own."""

    def add(self, read: Read) -> None:
        """Add one file."""
        self.forms[read.form] += 1
        for name, said in read.columns.items():
            if len(self.columns) < MAX_TOLD:
                self.columns.setdefault(name, said)

    def as_dict(self) -> dict[str, Any]:
        """The forms and columns as JSON values."""
        return {"forms": dict(sorted(self.forms.items())), "columns": self.columns}
