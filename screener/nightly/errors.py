"""Errors of the nightly: exceptions that stop a night, and refusals that leave out one symbol.

The message of an exception is one sentence that says what to do. A refusal is a value, not an
exception, so that one bad file never stops the other symbols.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass


class NightlyError(Exception):
    """The night cannot be built; the message is one sentence that says what to do."""


class SourceError(NightlyError):
    """The bars or the reference table cannot be read."""


class WorkerError(NightlyError):
    """A worker process died; the bars are not the cause."""


@dataclass(frozen=True, slots=True)
class RefusedInput:
    """Why one symbol is not covered tonight, or one file is left out.

    `code` is short and stable, `reason` is one sentence for people.
    """

    code: str
    reason: str
    rows: int = 0
    """The rows that were read and are left out for this reason alone."""

    def of(self, name: str) -> str:
        """The reason, with the name of what is refused in front unless it has it already."""
        named = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", self.reason)
        return self.reason if named else f"{name}: {self.reason}"


def by_code(refused: Mapping[str, RefusedInput]) -> dict[str, dict[str, str]]:
    """By code, sorted, and there by name: the reason of each refusal."""
    reasons: dict[str, dict[str, str]] = {}
    for name, refusal in refused.items():
        reasons.setdefault(refusal.code, {})[name] = refusal.reason
    return dict(sorted(reasons.items()))


def by_rule(found: Iterable[Mapping[str, int]]) -> dict[str, tuple[int, int]]:
    """By rule, sorted: how many rows it affected, and of how many symbols; each tells its rows."""
    rows: Counter[str] = Counter()
    symbols: Counter[str] = Counter()
    for counts in found:
        rows.update(counts)
        symbols.update(counts.keys())
    return {rule: (rows[rule], symbols[rule]) for rule in sorted(rows)}
