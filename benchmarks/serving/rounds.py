"""Rounds: short bursts at every contender in turn, so that all run under the same conditions."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from benchmarks.serving.cases import TWO, Case
from benchmarks.serving.load import Loader, Run
from benchmarks.serving.process import Server

CONNECTIONS = 16
WARM = 800
"""Requests to each contender of a case before its first burst: two with each key."""


@dataclass(frozen=True, eq=False)
class Contender:
    """A server with one case."""

    name: str
    server: Server
    case: Case

    def requests(self, keys: Sequence[str]) -> list[bytes]:
        """One request with each key."""
        return [self.case.raw(self.name, key, self.server.port) for key in keys]

    def check(self, run: Run) -> None:
        """Check that a burst was answered as the case expects.

        Raises:
            RuntimeError: it was not.
        """
        if run.refused != (run.requests if self.case.status >= 400 else 0):
            raise RuntimeError(
                f"{self.name} refused {run.refused} of {run.requests} requests of {self.case.name}."
            )


@dataclass
class Figures:
    """The results of the bursts at one contender, one value per round."""

    cpu_us: list[float] = field(default_factory=list)
    """User and system microseconds per request, of all processes of the server."""
    p99_ms: list[float] = field(default_factory=list)
    """The 99th percentile of latency."""

    @property
    def cpu(self) -> float:
        """CPU microseconds per request, the median of the rounds."""
        return statistics.median(self.cpu_us)


Found = dict[Contender, Figures]


def warm(
    contenders: Iterable[Contender], loader: Loader, keys: Sequence[str], requests: int = WARM
) -> None:
    """Let every contender answer some requests before it is measured."""
    for contender in contenders:
        # Each of two workers must have met nearly every key.
        number = 4 * requests if contender.name == TWO else requests
        raw, port = contender.requests(keys), contender.server.port
        contender.check(loader.few(port, raw, CONNECTIONS, requests=number))


def measure(
    contenders: Sequence[Contender], loader: Loader, keys: Sequence[str], rounds: int, seconds: int
) -> Found:
    """Measure every contender in every round; each round begins with a different one.

    Raises:
        RuntimeError: a contender answered with an error that its case does not expect.
    """
    found: Found = {contender: Figures() for contender in contenders}
    for number in range(rounds):
        print(f"Round {number + 1} of {rounds}, {len(contenders)} bursts", file=sys.stderr)
        shift = number * len(contenders) // rounds
        for contender in (*contenders[shift:], *contenders[:shift]):
            burst(contender, loader, keys, seconds, found[contender])
    return found


def burst(
    contender: Contender,
    loader: Loader,
    keys: Sequence[str],
    seconds: int,
    figures: Figures,
    rate: float = 0.0,
) -> None:
    """Measure one burst at one contender; with a rate, of so many requests a second."""
    server, raw = contender.server, contender.requests(keys)
    before = server.settled_cpu()
    if rate:
        run = loader.few(server.port, raw, CONNECTIONS, seconds=seconds, rate=rate)
    else:
        run = loader.burst(server.port, raw, CONNECTIONS, seconds)
    spent = server.settled_cpu() - before
    contender.check(run)
    figures.cpu_us.append(spent / (run.requests + run.unfinished) * 1e6)
    figures.p99_ms.append(run.p99_us / 1000)
