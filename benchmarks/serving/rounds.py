"""Rounds: short bursts at every contender in turn, so that all run under the same conditions."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from benchmarks.serving.cases import Case
from benchmarks.serving.load import Loader, Run
from benchmarks.serving.process import Server

WARM = 800
"""Requests to each contender of a case before its first burst: two with each key."""


@dataclass(frozen=True, eq=False)
class Contender:
    """A server with one case and a number of connections."""

    name: str
    server: Server
    case: Case
    connections: int

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
    """The results of the bursts at one contender."""

    cpu_us: list[float] = field(default_factory=list)
    """User and system microseconds of the server per request, one value per round."""
    runs: list[Run] = field(default_factory=list)

    @property
    def cpu(self) -> float:
        """CPU microseconds per request, the median of the rounds."""
        return statistics.median(self.cpu_us)

    @property
    def rate(self) -> float:
        """Requests per second, the median of the rounds."""
        return statistics.median(run.requests / run.seconds for run in self.runs)

    @property
    def p50_ms(self) -> float:
        """The median latency in milliseconds, the median of the rounds."""
        return statistics.median(run.p50_us for run in self.runs) / 1000

    @property
    def p99_ms(self) -> float:
        """The 99th percentile of latency in milliseconds, the median of the rounds."""
        return statistics.median(run.p99_us for run in self.runs) / 1000


Found = dict[Contender, Figures]


def warm(contenders: Iterable[Contender], loader: Loader, keys: Sequence[str]) -> None:
    """Let every contender answer some requests before it is measured."""
    for contender in contenders:
        raw = contender.requests(keys)
        contender.check(loader.few(contender.server.port, raw, 4, requests=WARM))


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
    contender: Contender, loader: Loader, keys: Sequence[str], seconds: int, figures: Figures
) -> None:
    """Measure one burst at one contender."""
    server, raw = contender.server, contender.requests(keys)
    before = server.settled_cpu()
    run = loader.burst(server.port, raw, contender.connections, seconds)
    spent = server.settled_cpu() - before
    contender.check(run)
    figures.cpu_us.append(spent / (run.requests + run.unfinished) * 1e6)
    figures.runs.append(run)
