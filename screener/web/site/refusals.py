"""Refusal: a page does not do what was asked, and a sentence tells the visitor why."""

from __future__ import annotations


class PageRefusal(Exception):  # noqa: N818 - a refusal is an answer, not a fault
    """Raised early; shown above the form that it concerns, or else on a page of its own."""

    def __init__(self, status: int, message: str, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.retry_after = retry_after
        """Seconds to wait before trying again."""
