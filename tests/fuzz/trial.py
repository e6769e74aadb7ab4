"""A trial: one target under generated cases for a while, and what it finds."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy

Check = Callable[[bytes], tuple[float, list[str]]]
"""Tries one case; returns the seconds of processor and what is wrong."""

SLOW = "it takes too long"
"""A fault that is not made smaller, because it need not show again."""
SLICE = 50
"""Cases after which the clock is looked at."""


class FoundError(AssertionError):
    """A case went wrong in a way that is new."""


@dataclass
class Trial:
    """One target: its cases so far, the slowest of them, and what went wrong."""

    name: str
    cases: int = 0
    slowest: float = 0.0
    slowest_case: bytes = b""
    found: dict[str, bytes] = field(default_factory=dict)
    """By what went wrong: the smallest case that shows it."""

    def note(self, data: bytes, spent: float, faults: list[str]) -> None:
        """Count a case, and keep it if it is the slowest, or the smallest that goes wrong so."""
        self.cases += 1
        if spent > self.slowest:
            self.slowest, self.slowest_case = spent, data
        for fault in faults:
            if len(data) < len(self.found.get(fault, data + b"x")):
                self.found[fault] = data

    def run(self, strategy: SearchStrategy[bytes], check: Check, until: float, start: int) -> None:
        """Try generated cases until a moment of the monotonic clock; `start` seeds them."""

        known: set[str] = set()

        def once(data: bytes) -> None:
            if time.monotonic() > until:
                return
            spent, faults = check(data)
            self.note(data, spent, faults)
            if not known.issuperset(set(faults) - {SLOW}):
                raise FoundError

        while time.monotonic() < until:
            known.update(self.found)  # what is known already is not made smaller again
            case: Any = given(strategy)(once)
            case = settings(
                max_examples=SLICE,
                database=None,
                deadline=None,
                phases=[Phase.generate, Phase.shrink],
                suppress_health_check=list(HealthCheck),
            )(seed(start)(case))
            start += 1
            try:
                case()
            except BaseException as error:
                if not _expected(error):
                    raise

    def keep(self, folder: Path) -> list[str]:
        """Write the cases that went wrong into a folder; returns a line on each."""
        lines = []
        for fault, data in sorted(self.found.items()):
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / f"{self.name}-{hashlib.sha256(data).hexdigest()[:8]}"
            path.write_bytes(data)
            lines.append(f"{self.name}: {fault}; again with make fuzz AGAIN={path}")
        return lines


def _expected(error: BaseException) -> bool:
    """Whether an error is only the finding that Hypothesis reports after shrinking."""
    if isinstance(error, BaseExceptionGroup):
        return all(map(_expected, error.exceptions))
    # A case that takes long at first may not do so again: Hypothesis then calls it flaky.
    return isinstance(error, FoundError) or type(error).__name__.startswith("Flaky")
