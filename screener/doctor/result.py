"""Result: one line of what a check says, and whether it is well."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

from screener.settings.settings import Settings


class CheckResult(NamedTuple):
    """What a check says of one thing; of what is not well, the words say what to do."""

    level: Literal["ok", "warning", "fault"]
    name: str
    words: str


Check = Callable[["Settings"], Iterator[CheckResult]]


def ok(name: str, words: str) -> CheckResult:
    """It is well."""
    return CheckResult("ok", name, words)


def warning(name: str, words: str) -> CheckResult:
    """The service works, and something about it is probably not meant."""
    return CheckResult("warning", name, words)


def fault(name: str, words: str) -> CheckResult:
    """The service does not work, or does what it must not."""
    return CheckResult("fault", name, words)
