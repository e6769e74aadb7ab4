"""Errors of the nightly: exceptions that stop a night, and refusals that leave out one symbol.

The message of an exception is one sentence that says what to do. A refusal is a value, not an
exception, so that one bad file never stops the other symbols.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass


class NightlyError(Exception):
    """The night cannot be built; the message is one sentence that says what to do."""


class SourceError(NightlyError):
    """The bars or the reference table cannot be read."""


class WorkerError(NightlyError):
    """A worker process died; the bars are not the cause."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why one symbol is not covered tonight.

    `code` is short and stable, `reason` is one sentence for people.
    """

    code: str
    reason: str

    def of(self, name: str) -> str:
        """The reason, with the name of what is refused in front unless it has it already."""
        named = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", self.reason)
        return self.reason if named else f"{name}: {self.reason}"


def by_code(refused: Mapping[str, Refusal]) -> dict[str, dict[str, str]]:
    """By code, and there by name: the reason of each refusal."""
    found: dict[str, dict[str, str]] = {}
    for name, refusal in sorted(refused.items()):
        found.setdefault(refusal.code, {})[name] = refusal.reason
    return dict(sorted(found.items()))
