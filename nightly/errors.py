"""Errors of the nightly: what stops a night, and what keeps one symbol out of it.

A night stops with an exception whose one sentence says what to do. A symbol is kept out by a value
that travels with it, so that one odd file never stops the other symbols.
"""

from __future__ import annotations

from dataclasses import dataclass


class NightlyError(Exception):
    """The night cannot be built; the message is one sentence that says what to do."""


class SourceError(NightlyError):
    """The bars or the reference table cannot be read."""


class WorkerError(NightlyError):
    """A process that did part of the work died; the bars are not to blame."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why one symbol is not covered tonight.

    `code` is stable and short, `reason` one sentence for people. `analysed` says that its bars are
    sound all the same: they are walked for the statistics, only nothing current is served.
    """

    code: str
    reason: str
    analysed: bool = False
