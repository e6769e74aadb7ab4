"""Finding: one line of what a check found, and whether it is well."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from screener.settings.settings import Settings

Level = Literal["ok", "warning", "fault"]


class Finding(NamedTuple):
    """What was found of one thing; of what is not well, the words say what to do."""

    level: Level
    name: str
    words: str


Check = Callable[["Settings"], Iterator[Finding]]


def ok(name: str, words: str) -> Finding:
    """It is well."""
    return Finding("ok", name, words)


def warning(name: str, words: str) -> Finding:
    """The service works, and something about it is probably not meant."""
    return Finding("warning", name, words)


def fault(name: str, words: str) -> Finding:
    """The service does not work, or does what it must not."""
    return Finding("fault", name, words)


def megabytes(number: float) -> str:
    """Bytes as people read them."""
    return f"{number / 1e9:,.1f} GB" if number >= 1e9 else f"{number / 1e6:,.0f} MB"
