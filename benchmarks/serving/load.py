"""Load: closed-loop requests over persistent connections, sent by wrk or by this process."""

from __future__ import annotations

import asyncio
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count

from benchmarks.serving.cases import MARK

SCRIPT = """
local openings = {%s}
local closings = {%s}
local n = %d
request = function()
  n = n + 1
  local at = n %% #openings + 1
  if closings[at] == "" then return openings[at] end
  return openings[at] .. string.format("%%09d", n) .. closings[at]
end
done = function(summary, latency, requests)
  local e = summary.errors
  io.write(string.format("RESULT %%d %%d %%d %%d\\n", summary.requests, e.status,
    e.connect + e.read + e.write + e.timeout, latency:percentile(99)))
end
"""
STRIDE = 1_000_000
"""The number of distinct marks that one run may use."""
FOUND = re.compile(r"RESULT (\d+) (\d+) (\d+) (\d+)")


@dataclass(frozen=True)
class Run:
    """The result of one burst of load."""

    requests: int
    """The number of answered requests."""
    unfinished: int
    """Requests that were sent but not yet answered when the time was up."""
    refused: int
    """Answers with a status of 400 or more."""
    p99_us: float


class Loader:
    """Sends bursts to loopback ports; every request with a mark gets a different one."""

    def __init__(self, wrk: str | None) -> None:
        self.wrk = wrk
        self._runs = count(1)

    @property
    def name(self) -> str:
        """The program that sends the load."""
        return "wrk" if self.wrk else "an asyncio client in this process (install wrk)"

    def burst(self, port: int, raw: Sequence[bytes], connections: int, seconds: int) -> Run:
        """Send requests in turn for some seconds; if none is answered, try again for longer.

        Raises:
            RuntimeError: connections failed, or no request was answered in the last try.
        """
        unfinished = 0
        for length in (seconds, 4 * seconds, 16 * seconds):
            run = self._burst(port, raw, connections, length)
            unfinished += run.unfinished
            if run.requests:
                return replace(run, unfinished=unfinished)
        raise RuntimeError(f"Nothing was answered on port {port} in {length} s.")

    def _burst(self, port: int, raw: Sequence[bytes], connections: int, seconds: int) -> Run:
        if self.wrk is None:
            return self.few(port, raw, connections, seconds=seconds)
        start = next(self._runs) % 999 * STRIDE
        with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
            script.write(_script(raw, start))
            script.flush()
            command = [
                self.wrk, "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "30s",
                "-s", script.name, f"http://127.0.0.1:{port}",
            ]  # fmt: skip
            done = subprocess.run(  # noqa: S603 - wrk, on a port of our own
                command, capture_output=True, text=True, timeout=seconds + 60, check=True
            )
        found = FOUND.search(done.stdout)
        if found is None:
            raise RuntimeError(f"wrk gave no result: {done.stdout[-300:]}{done.stderr[-300:]}")
        requests, refused, broken, p99 = map(int, found.groups())
        if broken:
            raise RuntimeError(f"{broken} connections to port {port} failed.")
        return Run(requests, connections, refused, p99)

    def few(
        self,
        port: int,
        raw: Sequence[bytes],
        connections: int,
        *,
        seconds: float = 60.0,
        requests: int = STRIDE,
        rate: float = 0.0,
    ) -> Run:
        """Send requests from this process until the time is up or `requests` were answered.

        Each connection sends when it has its answer or, with a rate, evenly so that all together
        send so many a second; then a request that is late for an answer counts from when it was
        due.
        """
        start = next(self._runs) % 999 * STRIDE
        numbers = iter(range(start, start + requests))
        return asyncio.run(_crowd(port, raw, connections, numbers, seconds, rate))


def _script(raw: Sequence[bytes], start: int) -> str:
    parts = [request.partition(MARK.encode()) for request in raw]
    openings = ",".join(_literal(opening) for opening, _, _ in parts)
    return SCRIPT % (openings, ",".join(_literal(closing) for *_, closing in parts), start)


def _literal(text: bytes) -> str:
    return '"' + "".join(f"\\{byte:03}" for byte in text) + '"'


async def _crowd(
    port: int,
    raw: Sequence[bytes],
    connections: int,
    numbers: Iterator[int],
    seconds: float,
    rate: float,
) -> Run:
    began, every = time.perf_counter(), connections / rate if rate else 0.0
    clients = [
        _client(port, raw, numbers, began + every * place / connections, every, began + seconds)
        for place in range(connections)
    ]
    answers = [answer for found in await asyncio.gather(*clients) for answer in found]
    times = sorted(taken for taken, _ in answers) or [0.0]
    refused = sum(status >= 400 for _, status in answers)
    return Run(len(answers), 0, refused, times[len(times) * 99 // 100] * 1e6)


async def _client(
    port: int, raw: Sequence[bytes], numbers: Iterator[int], due: float, every: float, until: float
) -> list[tuple[float, int]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    found = []
    for number in numbers:
        early = due - time.perf_counter()
        if every and early > 0:
            await asyncio.sleep(early)
        # The server is not to blame for a timer that is late.
        sent = due if every and early <= 0 else time.perf_counter()
        if sent >= until:
            break
        writer.write(raw[number % len(raw)].replace(MARK.encode(), b"%09d" % number))
        status, _ = await read_answer(reader)
        found.append((time.perf_counter() - sent, status))
        due += every
    writer.close()
    await writer.wait_closed()
    return found


async def read_answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """The status and body of one answer, read by its Content-Length (RFC 9112 section 6.3)."""
    head = await reader.readuntil(b"\r\n\r\n")
    status = int(head[9:12])
    length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
    if status == 304 or length is None:
        return status, b""
    return status, await reader.readexactly(int(length[1]))
