"""What may go wrong between a program and the service, each a line that a person can act on."""

from __future__ import annotations

import json
from typing import Any

Json = dict[str, Any]


class ScreenerError(Exception):
    """A failure that a person can correct; its message is one line."""

    exit_code = 1


class RefusedError(ScreenerError):
    """The service refused: branch on `code`, and show the message to a person."""

    def __init__(self, body: Json) -> None:
        self.code: str = body["error"]
        details = f" {body['details']}" if body.get("details") else ""
        super().__init__(f"{self.code}: {body['message']} {body['fix']}{details}")


class UnreachableError(ScreenerError):
    """No pattern screener answers at that address."""

    exit_code = 2


class SessionChangedError(ScreenerError):
    """A new night became active between two answers, so they do not belong together."""


def refusal(content: bytes, where: str) -> Json:
    """The body of an error answer.

    Raises:
        UnreachableError: it is not one of this service.
    """
    return read(content, {"error", "message", "fix"}, where)


def read(content: bytes, fields: set[str], where: str) -> Json:
    """The JSON of an answer, which has some fields at least."""
    try:
        body = json.loads(content)
    except ValueError:
        body = None
    if not isinstance(body, dict) or not fields <= set(body):
        raise UnreachableError(f"{where} does not answer like a pattern screener.")
    return body
