"""Connections that do nothing."""

from __future__ import annotations


class Visitor:
    """A connection that does nothing."""

    def __init__(self, address: str = "192.0.2.1") -> None:
        self.address = self.network = address
        self.is_ended = False

    def is_late(self, now: float) -> bool:
        return now < 0

    def end_late(self) -> None:
        raise AssertionError("No time is up.")

    def end(self) -> None:
        self.is_ended = True
