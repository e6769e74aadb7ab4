"""Outlets: the transport of a connection, between uvicorn and the bounds of the connection."""

from __future__ import annotations

import asyncio
import select
from typing import Any


class Outlet(asyncio.Transport):
    """The transport as uvicorn has it: once the connection is given up, what it writes is dropped.

    uvicorn tells only the last of several pipelined requests that their client is gone.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        super().__init__()
        self._transport = transport
        self.is_open = False
        self.is_used = False
        """Whether anything has been written since it was last set to False."""

    def write(self, data: bytes | bytearray | memoryview[int]) -> None:
        if self.is_open:
            self.is_used = True
            self._transport.write(data)

    def close(self) -> None:
        if self.is_open:
            self._transport.close()

    def close_unless_unread(self) -> None:
        """Close, unless bytes have come that are not read yet: they may be a request, and the
        client would get a reset in the place of its answer.
        """
        if not self.is_closing() and not self._has_unread():
            self._transport.close()

    def abort(self) -> None:
        self._transport.abort()

    def finish(self, answer: bytes) -> None:
        """Send the last bytes and the end of the stream; what still comes can be received."""
        if not self._transport.is_closing():
            self._transport.write(answer)
            self._transport.resume_reading()
            self._transport.write_eof()

    def is_closing(self) -> bool:
        return not self.is_open or self._transport.is_closing()

    def get_extra_info(self, name: str, default: Any = None) -> Any:  # noqa: ANN401 - asyncio's
        return self._transport.get_extra_info(name, default)

    def pause_reading(self) -> None:
        if not self.is_closing():
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        if not self.is_closing():
            self._transport.resume_reading()

    def _has_unread(self) -> bool:
        stream = self.get_extra_info("socket")
        if stream is None or not hasattr(select, "poll"):  # poll knows descriptors over 1023
            return False
        waiting = select.poll()
        waiting.register(stream.fileno(), select.POLLIN)
        return bool(waiting.poll(0))
