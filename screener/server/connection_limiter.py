"""Connection limiter: the connections that are open, whose they are, and when one has no time."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Protocol

from mcp_server.http.application import share_of
from mcp_server.http.requests import MAX_FIELD_BYTES, MAX_FIELDS
from screener.settings.setting_types import is_trusted
from screener.telemetry.metrics import connections, limits_hit


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """What a connection may take, in seconds and bytes, and how many there may be."""

    head_seconds: float = 10
    """From the connection, or from the first byte after an answer, to the end of the head."""
    body_seconds: float = 20
    answer_seconds: float = 120
    """For the app to answer."""
    idle_seconds: float = 60
    """Between an answer and the first byte of the next request."""
    unread_seconds: float = 60
    """For the client to read what has been sent."""
    linger_seconds: float = 2
    """For which a refused connection is read on."""
    leave_seconds: float = 0.5
    """For a request that is on its way when the server stops."""
    head_bytes: int = MAX_FIELD_BYTES
    fields: int = MAX_FIELDS
    pipelined: int = 16
    """Requests of one connection that are not answered yet."""
    connections: int = 1024

    @property
    def share(self) -> int:
        """The most connections of one network."""
        return share_of(self.connections)

    @property
    def tick(self) -> float:
        """Seconds between two looks at the clock."""
        return min(1.0, self.head_seconds, self.body_seconds, self.idle_seconds) / 4


class OpenConnection(Protocol):
    """A connection, as the limiter knows it."""

    address: str
    network: str
    """The network whose share is counted."""

    def is_late(self, now: float) -> bool:
        """Whether a time is up."""

    def end_late(self) -> None:
        """End a connection whose time is up."""

    def end(self) -> None:
        """End the connection at once."""


class ConnectionLimiter:
    """The open connections of one process: admits them, and ends those whose time is up."""

    def __init__(
        self, bounds: ConnectionLimits, trusted: Iterable[str] = (), *, counted: bool = True
    ) -> None:
        """Those of the service are counted for `/metrics`."""
        self.bounds = bounds
        self._counted = counted
        self.is_closing = False
        """Whether the server stops: each connection gives the answers that it owes, and ends."""
        self._trusted = tuple(trusted)
        self._open: set[OpenConnection] = set()
        self.waiting: OrderedDict[OpenConnection, None] = OrderedDict()
        """Connections without a request under way, which may be ended, longest waiting first."""
        self._held: Counter[str] = Counter()
        self._is_watching = False

    def admit(self, connection: OpenConnection) -> bool:
        """Whether there is room; if none is left, the connection that is idle longest is closed.

        If the network of the connection has its share, one of its own connections is closed.
        """
        if not self._make_room(connection):
            return False
        if not self._is_watching:
            self._is_watching = True
            self._look_later()
        self._open.add(connection)
        if self._counted:
            connections.inc()
        self._held[connection.network] += 1
        self.waiting[connection] = None
        return True

    def _make_room(self, connection: OpenConnection) -> bool:
        """Whether there is room, or somebody gave way; else the limit is counted as hit."""
        network = None
        if self._held[connection.network] >= self.bounds.share and not is_trusted(
            connection.address, self._trusted
        ):
            limit, network = "connections_of_network", connection.network
        elif len(self._open) >= self.bounds.connections:
            limit = "connections"
        else:
            return True
        if self._end_oldest(network):
            return True
        limits_hit.labels(limit).inc()
        return False

    def _end_oldest(self, network: str | None = None) -> bool:
        """End the connection that waits longest for a whole request; False if none does."""
        waiting = (v for v in self.waiting if network is None or v.network == network)
        oldest = next(waiting, None)
        if oldest is None:
            return False
        self.leave(oldest)
        oldest.end()
        return True

    def leave(self, connection: OpenConnection) -> None:
        """Forget a connection; one that is not known is no error."""
        self.waiting.pop(connection, None)
        if connection in self._open:
            self._open.remove(connection)
            if self._counted:
                connections.dec()
            self._held[connection.network] -= 1
            if not self._held[connection.network]:
                del self._held[connection.network]

    def close(self) -> None:
        """The server stops: who sends nothing, or only begins to, does not hold it up."""
        self.is_closing = True
        leave = self.bounds.leave_seconds
        self.bounds = replace(self.bounds, head_seconds=leave, idle_seconds=leave)

    def _look_later(self) -> None:
        asyncio.get_running_loop().call_later(self.bounds.tick, self._look)

    def _look(self) -> None:
        now = asyncio.get_running_loop().time()
        for connection in [c for c in self._open if c.is_late(now)]:
            connection.end_late()
        self._is_watching = bool(self._open)
        if self._is_watching:
            self._look_later()
