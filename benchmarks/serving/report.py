"""Report: the measurements as Markdown tables, and whether they meet the targets."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.serving.fresh import Fresh
from benchmarks.serving.rounds import Contender, Figures, Found

CONNECTIONS = 16
"""The number of connections at which the CPU of a request is compared."""
REFERENCES = ("bare", "route", "stock", "fastmcp", "fastapi")
FLOORS = ("bare", "route")
FLOOR_LIMITS = (
    ("rest-patterns", "bare", 1.9),
    ("mcp-2025", "route", 1.6),
    ("mcp-2026", "route", 2.2),
)
PEER_LIMITS = (
    ("rest-patterns", "fastapi", 8.0),
    ("mcp-2025", "stock", 6.0),
    ("mcp-2026", "stock", 4.0),
)
COST_LIMITS = (("scan-uncached", 400.0), ("scan-cached", 60.0))
GROWTH_LIMIT = 1.2

Target = tuple[str, float | None, float, str]


@dataclass(frozen=True)
class Measured:
    """All results of one run of the benchmark."""

    compared: Found
    growth: Mapping[tuple[str, int], Figures]
    """Figures of the service by case and number of symbols."""
    fresh: Fresh

    def figures(self, case: str, name: str, connections: int = CONNECTIONS) -> Figures | None:
        """The figures of one contender; None if it was not measured."""
        sought = case, name, connections
        return next(
            (
                figures
                for contender, figures in self.compared.items()
                if (contender.case.name, contender.name, contender.connections) == sought
            ),
            None,
        )

    def ratio(self, case: str, over: str, under: str) -> float | None:
        """The median over the rounds of one contender's CPU divided by another's."""
        top, bottom = self.figures(case, over), self.figures(case, under)
        if top is None or bottom is None:
            return None
        pairs = zip(top.cpu_us, bottom.cpu_us, strict=True)
        return statistics.median(one / other for one, other in pairs)

    def grown(self, case: str) -> float | None:
        """The cost with the most symbols divided by that with the fewest, median of the rounds."""
        sizes = sorted(size for name, size in self.growth if name == case)
        if len(sizes) < 2:
            return None
        small, large = (self.growth[case, size].cpu_us for size in (sizes[0], sizes[-1]))
        return statistics.median(b / a for a, b in zip(small, large, strict=True))


def report(measured: Measured) -> str:
    """All tables."""
    parts = [
        "## CPU of a request",
        f"User and system microseconds of the server, {CONNECTIONS} connections, median of the "
        "rounds. Ratios are medians of the rounds' ratios: ours over the floor; the others over "
        "ours. The floor is a raw ASGI app, for MCP a Starlette route that parses the body; it "
        "sends our bytes with a length and a type. stock, fastmcp: no sign-in, limits or "
        "watchlist; fastapi: no limits.",
        cpu_table(measured),
        "## Throughput and latency",
        "Requests a second, and milliseconds at the median and at the 99th percentile.",
        latency_table(measured.compared),
        "## Growth",
        "CPU microseconds of a request by the symbols in the book.",
        growth_table(measured),
        f"## Memory and start, {measured.fresh.symbols:,} symbols",
        "One worker, its book verified before; memory after 800 requests to each path.",
        fresh_table(measured.fresh),
        "## Targets",
        target_table(measured),
    ]
    return "\n\n".join(part for part in parts if part)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def cpu_table(measured: Measured) -> str:
    """One row per case: microseconds of each contender, and the ratios."""
    rows = []
    for case in _cases(measured.compared):
        cells = [case, _number(measured.figures(case, "ours"))]
        floor = next((name for name in FLOORS if measured.figures(case, name)), "bare")
        cells.append(_beside(measured.figures(case, floor), measured.ratio(case, "ours", floor)))
        cells += [
            _beside(measured.figures(case, name), measured.ratio(case, name, "ours"))
            for name in REFERENCES[2:]
        ]
        rows.append(cells)
    return table(["path", "ours", "floor (ours/floor)", "stock", "fastmcp", "fastapi"], rows)


def latency_table(found: Found) -> str:
    """One row per case and contender, three columns for each number of connections."""
    counts = sorted({contender.connections for contender in found})
    head = ["path", "server"]
    for count in counts:
        head += [f"req/s at {count}", "p50", "p99"]
    rows: dict[tuple[str, str], list[str]] = {}
    for contender, figures in sorted(found.items(), key=lambda item: item[0].connections):
        cells = rows.setdefault((contender.case.name, contender.name), [])
        cells += [f"{figures.rate:,.0f}", f"{figures.p50_ms:.2f}", f"{figures.p99_ms:.2f}"]
    return table(head, ([*names, *cells] for names, cells in rows.items()))


def growth_table(measured: Measured) -> str:
    """One row per case, one column per size."""
    sizes = sorted({size for _, size in measured.growth})
    rows = []
    for case in dict.fromkeys(name for name, _ in measured.growth):
        cells = [_number(measured.growth[case, size]) for size in sizes]
        rows.append([case, *cells, _times(measured.grown(case))])
    return table(["path", *(f"{size:,}" for size in sizes), "largest/smallest"], rows)


def fresh_table(fresh: Fresh) -> str:
    """One row: the memory of a service, and the cost of its start."""
    seconds, cpu = statistics.median(fresh.seconds), statistics.median(fresh.cpu_seconds)
    cells = [
        f"{fresh.memory.rss:.0f} MB",
        f"{fresh.memory.pss:.0f} MB",
        f"{seconds:.2f} s",
        f"{cpu:.2f} s",
    ]
    return table(["resident", "proportional (PSS)", "start to first 200", "CPU of it"], [cells])


def target_table(measured: Measured) -> str:
    """One row per target: its limit, the measured value, and whether it is met."""
    rows = []
    for name, value, limit, unit in targets(measured):
        if value is not None:
            at_least = name.endswith("at least")
            kept = value >= limit if at_least else value <= limit
            rows.append(
                [name, f"{limit:g}{unit}", f"{value:.2f}{unit}", "pass" if kept else "FAIL"]
            )
    return table(["target", "limit", "found", ""], rows)


def targets(measured: Measured) -> list[Target]:
    """Each target: its name, the measured value, its limit and its unit."""
    fresh = measured.fresh
    return [
        *_ratio_targets(measured),
        *_cost_targets(measured),
        *_growth_targets(measured),
        (f"resident memory, {fresh.symbols:,} symbols", fresh.memory.rss, 140.0, " MB"),
        ("start to first answer", statistics.median(fresh.seconds), 1.5, " s"),
    ]


def _ratio_targets(measured: Measured) -> Iterator[Target]:
    for case, floor, limit in FLOOR_LIMITS:
        yield f"{case} over {floor}", measured.ratio(case, "ours", floor), limit, "x"
    for case, name, limit in PEER_LIMITS:
        ratio = measured.ratio(case, name, "ours")
        yield f"{name} over ours, {case}, at least", ratio, limit, "x"


def _cost_targets(measured: Measured) -> Iterator[Target]:
    for case, limit in COST_LIMITS:
        figures = measured.figures(case, "ours")
        yield f"CPU of {case}", figures.cpu if figures else None, limit, " us"


def _growth_targets(measured: Measured) -> Iterator[Target]:
    for case in dict.fromkeys(name for name, _ in measured.growth):
        yield f"growth of {case}", measured.grown(case), GROWTH_LIMIT, "x"


def _cases(found: Iterable[Contender]) -> list[str]:
    return list(dict.fromkeys(contender.case.name for contender in found))


def _number(figures: Figures | None) -> str:
    return "" if figures is None else f"{figures.cpu:.1f}"


def _times(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.2f}x"


def _beside(figures: Figures | None, ratio: float | None) -> str:
    return "" if figures is None else f"{figures.cpu:.1f} ({_times(ratio)})"
