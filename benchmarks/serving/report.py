"""Report: the measurements as Markdown tables, and whether they meet the targets."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from benchmarks.serving.cases import OURS, SMALL, TWO
from benchmarks.serving.fresh import Fresh
from benchmarks.serving.rounds import CONNECTIONS, Figures, Found
from benchmarks.serving.writers import CROWD, READERS, READS, WRITES, Waits

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
)
"""CPU of a case: the first contender's is at most so many times the second's."""
AT_LEAST = (
    ("rest-patterns", "fastapi", OURS, 6.0),
    ("mcp-2025", "fastmcp", OURS, 20.0),
    ("mcp-2026", "fastmcp", OURS, 20.0),
    ("mcp-2025", "stock", OURS, 6.0),
    ("mcp-2026", "stock", OURS, 4.0),
)


class Target(NamedTuple):
    """A measured value, and its bound."""

    name: str
    value: float
    limit: float
    unit: str
    least: bool = False

    def row(self) -> list[str]:
        """The cells of its row."""
        kept = self.value >= self.limit if self.least else self.value <= self.limit
        limit = f"at {'least' if self.least else 'most'} {self.limit:g}{self.unit}"
        return [self.name, limit, f"{self.value:.2f}{self.unit}", "pass" if kept else "FAIL"]


@dataclass(frozen=True)
class Measured:
    """All results of one run of the benchmark; what was not asked for is empty or None."""

    found: Found
    fresh: Mapping[str, Fresh]
    """By the name of the service."""
    waits: Waits | None

    def figures(self, case: str) -> dict[str, Figures]:
        """The figures of each contender of a case."""
        return {one.name: found for one, found in self.found.items() if one.case.name == case}

    def ratio(self, case: str, over: str, under: str) -> float | None:
        """The median over the rounds of one contender's CPU divided by another's."""
        figures = self.figures(case)
        if over not in figures or under not in figures:
            return None
        pairs = zip(figures[over].cpu_us, figures[under].cpu_us, strict=True)
        return statistics.median(one / other for one, other in pairs)


def report(measured: Measured) -> str:
    """All tables."""
    parts = [
        "## CPU of a request, microseconds",
        f"User and system time of all processes of a server, {CONNECTIONS} connections, "
        "median of the rounds, and how many times the floor, the median of the rounds' ratios. "
        "The floor sends our bytes with a length and a type: bare is a raw ASGI app, route a "
        "Starlette route that parses the body. stock, fastmcp: no sign-in, limits or watchlist; "
        "fastapi: the same work.",
        cpu_table(measured),
        *fresh_table(measured.fresh),
        *(waits_table(measured.waits) if measured.waits else ()),
        "## Targets",
        table(["target", "limit", "found", ""], (target.row() for target in targets(measured))),
    ]
    return "\n\n".join(parts)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


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
    head = ["service", "resident, largest process", "PSS of all", "CPU to first answer", "wall"]
    rows = []
    for name, one in fresh.items():
        cells = [name, f"{one.memory.rss:.0f} MB", f"{one.memory.pss:.0f} MB"]
        rows.append([*cells, f"{one.cpu_seconds:.2f} s", f"{one.seconds:.2f} s"])
    yield table(head, rows)


def waits_table(waits: Waits) -> Iterator[str]:
    """One row without writers and one with them."""
    yield "## Readers beside writers"
    yield (
        f"{READS} requests a second by {READERS} keys, while of {CROWD:,} other accounts {WRITES} "
        "are written each second, and while none is; medians of the phases."
    )
    done = f"{statistics.median(waits.written):.0f}"
    rows = [
        [name, writes, f"{statistics.median(each.p99_ms):.2f}", f"{each.cpu:.0f}"]
        for name, writes, each in (("alone", "0", waits.alone), ("writers", done, waits.crowded))
    ]
    yield table(["phase", "writes a second", "p99, ms", "CPU of a request, us"], rows)


def targets(measured: Measured) -> Iterator[Target]:
    """Each target whose value was measured."""
    for rows, least in ((AT_MOST, False), (AT_LEAST, True)):
        for case, over, under, limit in rows:
            if (ratio := measured.ratio(case, over, under)) is not None:
                yield Target(f"{case}: {over} over {under}", ratio, limit, "x", least)
    for name, fresh in measured.fresh.items():
        yield Target(f"resident memory of a worker, {name}", fresh.memory.rss, 140.0, " MB")
        yield Target(f"CPU to first answer, {name}", fresh.cpu_seconds, 1.5, " s")
    if waits := measured.waits:
        yield Target("p99 with writers over without", waits.ratio, 2.0, "x")
        written = statistics.median(waits.written)
        yield Target("accounts written a second", written, 0.95 * WRITES, "", least=True)
