"""A trial: one target under generated cases for a while, and what it finds.

`corpus/` has what once broke: one small file each, in a folder for each target. Those in `http` are
requests (see `tests.qa.fuzz.exchange` for what `@` stands for), the others what the readers of
these names are given.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
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
ROUNDS = 4
"""How often each target has its turn."""
MAX_GROWTH = 96.0
"""Megabytes by which a process may grow after its warm-up: its caches, when all are full."""
FOLDER = Path(__file__).with_name("corpus")
HTTP = "http"
FOUND = Path("fuzz-found")


def corpus(target: str) -> list[Path]:
    """The kept files for a target, by name."""
    return sorted(path for path in (FOLDER / target).glob("*") if path.is_file())


class FoundError(AssertionError):
    """A case went wrong in a way that is new."""


@dataclass
class Trial:
    """One target: its cases so far, the slowest of them, and what went wrong."""

    name: str
    check: Check
    strategy: SearchStrategy[bytes]
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

    def again(self) -> None:
        """Try what once went wrong."""
        for path in corpus(self.name):
            data = path.read_bytes()
            self.note(data, *self.check(data))

    def run(self, until: float, start: int) -> None:
        """Try generated cases until a moment of the monotonic clock; `start` seeds them."""

        known: set[str] = set()

        def once(data: bytes) -> None:
            if time.monotonic() > until:
                return
            spent, faults = self.check(data)
            self.note(data, spent, faults)
            if not known.issuperset(set(faults) - {SLOW}):
                raise FoundError

        while time.monotonic() < until:
            known.update(self.found)  # what is known already is not made smaller again
            case: Any = given(self.strategy)(once)
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

    def keep(self) -> list[str]:
        """Write the cases that went wrong into the folder of findings; returns a line on each."""
        lines = []
        for fault, data in sorted(self.found.items()):
            FOUND.mkdir(exist_ok=True)
            path = FOUND / f"{self.name}-{hashlib.sha256(data).hexdigest()[:8]}"
            path.write_bytes(data)
            lines.append(f"{self.name}: {fault}; again with make fuzz AGAIN={path}")
        return lines


def attack(
    title: str, trials: Sequence[Trial], seconds: float, start: int, memory: Callable[[], float]
) -> list[str]:
    """Give each trial its turn, again and again, and print what was tried; returns what went wrong.

    The first round is the warm-up, after which memory may hardly grow.
    """
    for trial in trials:
        trial.again()
    turn, used = seconds / (ROUNDS + 1) / len(trials), list[float]()
    for number in range(ROUNDS + 1):
        for trial in trials:
            trial.run(time.monotonic() + turn, start + 100 * number)
        used.append(memory())
    print(f"\n{title}; memory {used[0]:.0f} MiB after the warm-up, {used[-1]:.0f} MiB at the end")
    print(f"{'target':<12}{'cases':>9}{'slowest, ms of CPU':>20}  the slowest begins with")
    for trial in trials:
        case = ascii(trial.slowest_case[:60].decode("latin-1"))
        print(f"{trial.name:<12}{trial.cases:>9,}{trial.slowest * 1000:>20.1f}  {case}")
    grown = used[-1] - used[0]
    wrong = [f"{title}: grew by {grown:.0f} MiB"] if grown > MAX_GROWTH else []
    return [line for trial in trials for line in trial.keep()] + wrong


def _expected(error: BaseException) -> bool:
    """Whether an error is only the finding that Hypothesis reports after shrinking."""
    if isinstance(error, BaseExceptionGroup):
        return all(map(_expected, error.exceptions))
    # A case that takes long at first may not do so again: Hypothesis then calls it flaky.
    return isinstance(error, FoundError) or type(error).__name__.startswith("Flaky")
