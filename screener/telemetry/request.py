"""Request: what is known of the request under way, for its metrics and its log lines."""

from __future__ import annotations

import re
import time
from contextvars import ContextVar
from dataclasses import dataclass, field

SENT_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
"""An id of a caller or a proxy that is taken over; any other is replaced."""


@dataclass(slots=True)
class Request:
    """One request; who learns something of it notes it here."""

    id: str = ""
    surface: str = ""
    """By which it came: rest, mcp, or what else the service has for its path."""
    operation: str = ""
    """The operation that it called; empty if it called none."""
    code: str = ""
    """`ok` or the code of the error; the HTTP status where no operation was called."""
    key_prefix: str = ""
    """The beginning of the key, which is shown to its owner too; never more of it."""
    status: int = 0
    """Status of the response; 0 while there is none."""
    started: float = field(default_factory=time.perf_counter)

    @property
    def milliseconds(self) -> float:
        """The time since it came."""
        return (time.perf_counter() - self.started) * 1000


current: ContextVar[Request | None] = ContextVar("current", default=None)
"""The request that this task works for; None outside of one."""


def note(surface: str, operation: str = "") -> None:
    """Note what the request under way came by and, if it calls no operation, what else it is for.

    Neither may be a text that a caller chooses.
    """
    request = current.get()
    if request is not None:
        request.surface, request.operation = surface, operation
