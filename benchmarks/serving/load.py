"""Load: short bursts by wrk over persistent connections, at every contender in turn.

The contenders take turns so that all run under the same conditions.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count
from statistics import median

from benchmarks.serving.cases import MARK, Case
from benchmarks.serving.process import Server

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
  io.write(string.format("RESULT %%d %%d %%d\\n", summary.requests, e.status,
    e.connect + e.read + e.write + e.timeout))
end
"""
STRIDE = 1_000_000
"""The number of distinct marks that one burst may use."""
FOUND = re.compile(r"RESULT (\d+) (\d+) (\d+)")
CONNECTIONS = 16


@dataclass(frozen=True, eq=False)
class Contender:
    """A server with one case."""

    name: str
    server: Server
    case: Case


@dataclass
class Figures:
    """The bursts at one contender: microseconds of CPU a request, and how many requests."""

    cpu_us: list[float] = field(default_factory=list)
    """User and system time of all processes of the server, one value per round."""
    requests: int = 0

    @property
    def cpu(self) -> float:
        """The median of the rounds."""
        return median(self.cpu_us)


Found = dict[Contender, Figures]


class Loader:
    """Sends bursts with some keys in turn; every request with a mark gets a different one."""

    def __init__(self, wrk: str, keys: Sequence[str], seconds: int) -> None:
        self._wrk = wrk
        self._keys = keys
        self._seconds = seconds
        self._bursts = count(1)

    def warm(self, contenders: Iterable[Contender]) -> None:
        """Let every contender answer some requests before it is measured."""
        for contender in contenders:
            self._burst(contender)

    def measure(self, contenders: Sequence[Contender], rounds: int) -> Found:
        """Measure every contender in every round; each round begins with a different one.

        Raises:
            RuntimeError: a contender answered otherwise than its case expects.
        """
        found: Found = {contender: Figures() for contender in contenders}
        for number in range(rounds):
            print(f"Round {number + 1} of {rounds}, {len(contenders)} bursts", file=sys.stderr)
            shift = number * len(contenders) // rounds
            for contender in (*contenders[shift:], *contenders[:shift]):
                before = contender.server.settled_cpu()
                requests = self._burst(contender)
                spent = contender.server.settled_cpu() - before
                found[contender].cpu_us.append(spent / requests * 1e6)
                found[contender].requests += requests
        return found

    def _burst(self, contender: Contender) -> int:
        """Send requests for some seconds; how many the server got."""
        port, case = contender.server.port, contender.case
        raw = [case.raw(contender.name, key, port) for key in self._keys]
        start = next(self._bursts) % 999 * STRIDE
        with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
            script.write(_script(raw, start))
            script.flush()
            command = [
                self._wrk, "-t1", f"-c{CONNECTIONS}", f"-d{self._seconds}s", "--timeout", "30s",
                "-s", script.name, f"http://127.0.0.1:{port}",
            ]  # fmt: skip
            done = subprocess.run(  # noqa: S603 - wrk, on a port of our own
                command, capture_output=True, text=True, timeout=self._seconds + 60, check=True
            )
        result = FOUND.search(done.stdout)
        if result is None:
            raise RuntimeError(f"wrk gave no result: {done.stdout[-300:]}{done.stderr[-300:]}")
        answered, refused, broken = map(int, result.groups())
        if broken or not answered or refused != (answered if case.status >= 400 else 0):
            raise RuntimeError(
                f"{contender.name}, {case.name}: {answered} answers, {refused} of them refusals, "
                f"{broken} failed connections."
            )
        return answered + CONNECTIONS  # one on each connection was not answered in time


def _script(raw: Sequence[bytes], start: int) -> str:
    parts = [request.partition(MARK.encode()) for request in raw]
    openings = ",".join(_literal(opening) for opening, _, _ in parts)
    return SCRIPT % (openings, ",".join(_literal(closing) for *_, closing in parts), start)


def _literal(text: bytes) -> str:
    return '"' + "".join(f"\\{byte:03}" for byte in text) + '"'
