"""What came of making a fault: one row of the table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path


class CannotError(Exception):
    """This machine cannot make the fault; the text says why."""


@dataclass
class Found:
    """A fault that was made, and what it did."""

    made: str = ""
    """How often, and where."""
    lost: list[str] = field(default_factory=list)
    """What was acknowledged and is gone. Anything here fails the run."""
    wrong: list[str] = field(default_factory=list)
    """What was served or said and is not so. Anything here fails the run."""
    seen: Counter[str] = field(default_factory=Counter)
    """The ways in which requests ended, or what a command said."""
    seconds: list[float] = field(default_factory=list)
    """Each time from the end of the fault until all was well again."""
    notes: list[str] = field(default_factory=list)

    def cells(self, name: str) -> tuple[str, ...]:
        """The row, in words."""
        said = "; ".join(f"{number:,} x {what}" for what, number in self.seen.most_common())
        bad = [*(f"LOST {one}" for one in self.lost), *(f"WRONG {one}" for one in self.wrong)]
        well = f"{max(self.seconds):.1f} s" if self.seconds else "at once"
        return name, self.made, "; ".join(bad[:6]) or "nothing", said or "nothing", self.told(well)

    def told(self, well: str) -> str:
        """When all was well again, and what else is to say."""
        return ". ".join([well, *self.notes])

    @property
    def failed(self) -> bool:
        """Whether anything was lost or wrong."""
        return bool(self.lost or self.wrong)


@dataclass(frozen=True)
class Fault:
    """A fault by its name. `make` gets a folder of its own and the nights to serve."""

    name: str
    make: Callable[[Path, Path], Found]
