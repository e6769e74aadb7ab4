"""Outlets: where uvicorn writes the answers of a connection, each with one call of the system."""

from __future__ import annotations

import asyncio

HEAD = b"HTTP/1.1 "


class Outlet(asyncio.Transport):
    """The part of a transport that uvicorn answers with.

    The head of an answer waits for the first bytes of its body, at most until the loop's next turn.
    Once the connection is given up, what is written is dropped: uvicorn tells only the last of
    several pipelined requests that their client is gone.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        super().__init__()
        self._transport = transport
        self._call_soon = asyncio.get_running_loop().call_soon
        self._head = b""
        self.is_open = True

    def write(self, data: bytes | bytearray | memoryview[int]) -> None:
        if not self.is_open:
            return
        if self._head:
            self._turn.cancel()
            data, self._head = self._head + data, b""
        elif data[:9] == HEAD:
            self._head = bytes(data)
            self._turn = self._call_soon(self.flush)
            return
        self._transport.write(data)

    def flush(self) -> None:
        """Write a head that still waits."""
        if self._head:
            self.write(b"")

    def close(self) -> None:
        if self.is_open:
            self.flush()
            self._transport.close()

    def is_closing(self) -> bool:
        return not self.is_open or self._transport.is_closing()
