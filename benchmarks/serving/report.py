"""Report: the measurements as Markdown tables, and whether they keep within their limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import median

from benchmarks.markdown import table
from benchmarks.serving.cases import OURS, POSTGRES, SMALL, TWO
from benchmarks.serving.load import CONNECTIONS, Figures, Found
from benchmarks.serving.process import Memory

AT_MOST = (
    ("rest-patterns", OURS, "bare", 2.0),
    ("mcp-2025", OURS, "route", 1.5),
    ("mcp-2026", OURS, "route", 1.8),
    ("rest-patterns", TWO, "bare", 2.4),
    ("mcp-2025", TWO, "route", 1.7),
    ("mcp-2026", TWO, "route", 2.0),
    ("mcp-list-2025", OURS, "route", 3.0),
    ("mcp-list-2026", OURS, "route", 3.0),
    ("rest-patterns", OURS, SMALL, 1.2),
    ("scan-uncached", OURS, SMALL, 1.2),
    ("rest-patterns", POSTGRES, OURS, 1.3),
    ("rest-patterns", OURS, "fastapi", 1 / 6),
    ("mcp-2025", OURS, "fastmcp", 1 / 20),
    ("mcp-2026", OURS, "fastmcp", 1 / 20),
    ("mcp-2025", OURS, "stock", 1 / 6),
    ("mcp-2026", OURS, "stock", 1 / 4),
)
"""CPU of a case: the first contender's is at most so many times the second's."""
MEMORY, START = 140.0, 1.5
"""The most megabytes of a worker, and CPU seconds to the first answer."""


@dataclass(frozen=True)
class Fresh:
    """The cost of starting a service, medians of starts of which all but the first find that the
    book was verified before, and its memory at rest after some requests of each kind.
    """

    cpu_seconds: float
    """CPU seconds from spawn to the first 200."""
    memory: Memory


@dataclass(frozen=True)
class Measured:
    """All results of one run of the benchmark; what was not asked for is empty or None."""

    found: Found
    fresh: Mapping[str, Fresh]
    """By the name of the service."""
    redis_us: float | None
    """CPU of Redis for each call that is counted in it."""

    def figures(self, case: str) -> dict[str, Figures]:
        """The figures of each contender of a case."""
        return {one.name: found for one, found in self.found.items() if one.case.name == case}

    def ratio(self, case: str, over: str, under: str) -> float | None:
        """The median over the rounds of one contender's CPU divided by another's."""
        figures = self.figures(case)
        if over not in figures or under not in figures:
            return None
        pairs = zip(figures[over].cpu_us, figures[under].cpu_us, strict=True)
        return median(one / other for one, other in pairs)


def report(measured: Measured) -> str:
    """All tables."""
    redis = measured.redis_us
    parts = [
        "## CPU of a request, microseconds",
        f"User and system time of all processes of a server, {CONNECTIONS} connections, "
        "median of the rounds, and how many times the floor, the median of the rounds' ratios. "
        "The floor sends our bytes with a length and a type: bare is a raw ASGI app, route a "
        "Starlette route that parses the body. stock, fastmcp: no sign-in, limits or watchlist; "
        "fastapi: the same work.",
        cpu_table(measured),
        *(() if redis is None else (f"Redis itself spends {redis:.0f} us on a call.",)),
        *(fresh_table(measured.fresh) if measured.fresh else ()),
        "## Limits",
        table(["what", "at most", "measured", ""], limits(measured)),
    ]
    return "\n\n".join(parts)


def cpu_table(measured: Measured) -> str:
    """One row per case: microseconds of each contender, and how many times the floor that is."""
    names = list(dict.fromkeys(one.name for one in measured.found))
    rows = []
    for case in dict.fromkeys(one.case for one in measured.found):
        figures, floor = measured.figures(case.name), case.references[0]
        cells = [""] * len(names)
        for name, each in figures.items():
            ratio = measured.ratio(case.name, name, floor)
            cells[names.index(name)] = f"{each.cpu:.1f} ({ratio:.2f}x)"
        rows.append([case.name, *cells])
    return table(["path", *names], rows)


def fresh_table(fresh: Mapping[str, Fresh]) -> Iterator[str]:
    """One row per service: its memory, and the cost of its start."""
    yield "## Memory and start"
    yield "One worker at rest, after some requests to each path; medians of the starts."
    head = ["service", "resident, largest process", "PSS of all", "CPU to first answer"]
    rows = []
    for name, one in fresh.items():
        memory = [f"{one.memory.rss:.0f} MB", f"{one.memory.pss:.0f} MB"]
        rows.append([name, *memory, f"{one.cpu_seconds:.2f} s"])
    yield table(head, rows)


def limits(measured: Measured) -> Iterator[list[str]]:
    """A row for each limit of what was measured."""
    for case, over, under, most in AT_MOST:
        if (ratio := measured.ratio(case, over, under)) is not None:
            yield _limit(f"{case}: {over} over {under}", most, ratio, "x")
    for name, fresh in measured.fresh.items():
        yield _limit(f"resident memory of a worker, {name}", MEMORY, fresh.memory.rss, " MB")
        yield _limit(f"CPU to first answer, {name}", START, fresh.cpu_seconds, " s")


def _limit(name: str, most: float, value: float, unit: str) -> list[str]:
    holds = "pass" if value <= most else "FAIL"
    return [name, f"{most:.3g}{unit}", f"{value:.2f}{unit}", holds]
