"""A TCP proxy for tests, whose connections can be cut or hang."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress


class Proxy:
    """Forwards what it gets to a port of this machine, while it is told to."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._open = asyncio.Event()
        self._open.set()
        self._writers: set[asyncio.StreamWriter] = set()
        self.port = 0

    def lead_to(self, port: int) -> None:
        """From now on forward new connections to another port; those that there are stay."""
        self._to = port

    def hang(self) -> None:
        """From now on forward nothing, and close nothing."""
        self._open.clear()

    def go_on(self) -> None:
        """Forward again, also what came meanwhile."""
        self._open.set()

    def cut(self) -> None:
        """Cut every connection."""
        for writer in self._writers:
            writer.transport.abort()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Forward one connection, both ways."""
        there, back = await asyncio.open_connection("127.0.0.1", self._to)
        self._writers |= {writer, back}
        await asyncio.gather(self._pass(reader, back), self._pass(there, writer))
        self._writers -= {writer, back}

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while some := await reader.read(65536):
                await self._open.wait()
                writer.write(some)
                await writer.drain()
        writer.close()


@asynccontextmanager
async def proxied(port: int) -> AsyncIterator[Proxy]:
    """A proxy before a port of this machine, within the block."""
    proxy = Proxy(port)
    tasks: set[asyncio.Task[None]] = set()

    def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.create_task(proxy.serve(reader, writer)))

    server = await asyncio.start_server(begin, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        proxy.go_on()
        proxy.cut()
        await asyncio.gather(*tasks, return_exceptions=True)
