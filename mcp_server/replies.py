"""Replies: a finished HTTP response, and how it is sent in as few steps as the server allows."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

WHOLE = "screener.response"
"""ASGI extension and event: a response in one piece, with its header fields as they are sent.

A server that offers it takes `status`, `head` and `body` at once; any other is sent the two events
of ASGI. It is worth a third of what a stored answer costs.
"""

Message = MutableMapping[str, Any]
"""An ASGI scope or event."""
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Header = tuple[bytes, bytes]

_UNSENDABLE = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")


class Reply:
    """One finished HTTP response; an ASGI app of its own, as Starlette's responses are."""

    __slots__ = ("body", "head", "status")

    def __init__(self, status: int, head: bytes, body: bytes = b"") -> None:
        self.status = status
        self.head = head
        """The header fields, a line each; `lines` writes them."""
        self.body = body

    async def __call__(self, scope: Message, _receive: Receive, send: Send) -> None:
        if WHOLE in scope.get("extensions", ()):
            await send({"type": WHOLE, "status": self.status, "head": self.head, "body": self.body})
            return
        start = {"type": "http.response.start", "status": self.status, "headers": self.headers}
        await send(start)
        await send({"type": "http.response.body", "body": self.body})

    @property
    def headers(self) -> list[Header]:
        """The header fields by lower-case name, as ASGI has them."""
        pairs = (line.split(b": ", 1) for line in self.head.split(b"\r\n")[:-1])
        return [(name, value) for name, value in pairs]


def lines(headers: Iterable[Header]) -> bytes:
    """Header fields as they are sent (RFC 9112 section 5), names in lower case.

    Raises:
        ValueError: a value would end its line.
    """
    found = b""
    for name, value in headers:
        if _UNSENDABLE.search(value):
            raise ValueError(f"The header field {name!r} cannot hold {value!r}.")
        found += b"%b: %b\r\n" % (name, value)
    return found
