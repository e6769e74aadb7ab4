"""Drive: sends the mix, first as fast as it is answered, then at a rate that nothing slows down."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field

from benchmarks.serving.load import read_answer
from benchmarks.soak.mix import Kind, Mix

CONNECTIONS = 64
NETWORKS = 32
"""Addresses that the connections come from; what one may have at once is bounded."""
PATIENCE = 30.0
"""Seconds after which an answer counts as none."""

FRESH = 30.0
"""Seconds for which an idle connection is used again; the service ends one after 60."""

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass
class Tally:
    """What came of the requests: milliseconds by kind, and errors with how often each was."""

    spent: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    errors: Counter[str] = field(default_factory=Counter)

    @property
    def answered(self) -> int:
        """Answers, right or wrong."""
        return sum(map(len, self.spent.values()))


class Driver:
    """Connections to a service that are kept open, and a tally of what they brought."""

    def __init__(self, port: int, mix: Mix, versions: Collection[str]) -> None:
        self._port = port
        self._mix = mix
        self._versions = [version.encode() for version in versions]
        self._free: asyncio.LifoQueue[tuple[float, Connection]] = asyncio.LifoQueue()
        self._opened = 0
        self.tally = Tally()

    async def closed(self, seconds: float) -> float:
        """Requests a second that are answered if each client waits for its answer."""
        before, end = self.tally.answered, time.perf_counter() + seconds

        async def client() -> None:
            while time.perf_counter() < end:
                await self._send(*self._mix.next(), time.perf_counter())

        await asyncio.gather(*(client() for _ in range(CONNECTIONS)))
        return (self.tally.answered - before) / seconds

    async def steady(self, rate: float, seconds: float) -> None:
        """Send at a rate, whether answers come or not: times count from when a request was due."""
        end = due = time.perf_counter()
        end += seconds
        async with asyncio.TaskGroup() as group:
            while due < end:
                if (wait := due - time.perf_counter()) > 0:
                    await asyncio.sleep(wait)
                group.create_task(self._send(*self._mix.next(), due))
                due += self._mix.gap(rate)

    async def _send(self, kind: Kind, raw: bytes, due: float) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                reader, writer = await self._connection()
                writer.write(raw)
                status, body = await read_answer(reader)
        except (OSError, asyncio.IncompleteReadError, TimeoutError) as error:
            self.tally.errors[f"{kind.name}: {type(error).__name__}"] += 1
            return
        self.tally.spent[kind.name].append((time.perf_counter() - due) * 1000)
        self._free.put_nowait((time.perf_counter(), (reader, writer)))
        if status not in kind.statuses:
            self.tally.errors[f"{kind.name}: {status} {body[:40]!r}"] += 1
        elif kind.sealed and not any(one in body for one in self._versions):
            self.tally.errors[f"{kind.name}: an answer of no known night"] += 1

    async def _connection(self) -> Connection:
        while not self._free.empty():
            since, (reader, writer) = self._free.get_nowait()
            if time.perf_counter() - since < FRESH and not reader.at_eof():
                return reader, writer
            writer.close()
        self._opened += 1
        here = f"127.3.0.{1 + self._opened % NETWORKS}"
        return await asyncio.open_connection("127.0.0.1", self._port, local_addr=(here, 0))

    def close(self) -> None:
        """Close every connection."""
        while not self._free.empty():
            self._free.get_nowait()[1][1].close()
