"""`screener detect --explain`: why a symbol has a pattern on a session, or why it has none.

It brings numba and Polars, so the command imports it only when it is asked for.
"""

from __future__ import annotations

import datetime as dt

from nightly.analysis import Task
from nightly.bars import to_date
from nightly.doubt import GAP_DAYS
from nightly.errors import SourceError
from nightly.events import PatternType, Rule
from nightly.explain import SQUEEZES, Candidate, Explanation, Fate, Line, Score, Served, explain
from nightly.kernel.rules import Finding
from nightly.parameters import Parameters
from nightly.patterns import FAMILIES, family_index, type_name
from nightly.plan import Order, Plan, plan
from nightly.reference import Listing
from nightly.series import Series
from nightly.symbols import normalise
from screener.settings.console import Table, out
from store.wire.words import dollars, named

MOST = 10
"""Drawings that are shown: those that came furthest."""


def print_explanation(order: Order, symbol: str, parameters: Parameters) -> None:
    """Print the explanation of a symbol as of the session of an order.

    Raises:
        SourceError: the symbol has no bars that can be explained, or none at the session.
    """
    task, raw, listing = _find(plan(order, dt.datetime.now(dt.UTC)), order, symbol)
    series = _series(task, raw, listing, order.session)
    explained = explain(series, parameters, gap_days=GAP_DAYS[listing.asset_type])
    number, pairs = len(explained.served), len(explained.candidates)
    patterns = "1 pattern is served" if number == 1 else f"{number or 'no'} patterns are served"
    judged = "1 pair of lines was" if pairs == 1 else f"{pairs or 'no'} pairs of lines were"
    out.print(f"{listing.symbol} on {explained.session}: {patterns}, {judged} judged.")
    if order.session not in (None, explained.session):
        out.print(f"There is no bar for {order.session}; this is as of the last bar before it.")
    for served in explained.served:
        _print_served(served)
    _print_candidates(explained)


def _find(planned: Plan, order: Order, symbol: str) -> tuple[Task, str, Listing]:
    """The task that has a symbol, the raw name, and the listing."""
    wanted = normalise(symbol)
    for task in planned.tasks:
        for raw, listing in task.symbols:
            if listing.symbol == wanted:
                return task, raw, listing
    if symbol in planned.refused:
        raise SourceError(f"{symbol} cannot be used: {planned.refused[symbol].reason}")
    raise SourceError(
        f"{order.name} has no bars of {symbol}; name one of its symbols with --explain "
        f"({named(planned.symbols)})."
    )


def _series(task: Task, raw: str, listing: Listing, session: dt.date | None) -> Series:
    """The newest series of a symbol up to the session, as a night would walk it."""
    (loaded,) = task.source.load([raw])
    if loaded.refusal is not None:
        raise SourceError(f"{listing.symbol} is left out: {loaded.refusal.reason}")
    if session is not None and len(loaded.bars):
        first, last = (to_date(loaded.bars.date[bar]) for bar in (0, -1))
        if not first <= session <= last:
            raise SourceError(
                f"The bars of {listing.symbol} run from {first} to {last}; choose such a --session."
            )
    cleaned = task.clean(loaded, listing)
    if cleaned.refusal is not None:
        raise SourceError(
            f"No pattern on {listing.symbol} is served on {task.as_of}: {cleaned.refusal.reason}"
        )
    return cleaned.series[-1]


def _print_served(served: Served) -> None:
    sign = int((served.version if served.trade is None else served.trade)["direction"])
    state = "forming" if served.trade is None else "broken out, its trade is open"
    out.print()
    out.print(
        f"Served: {kind_name(served.kind)}, {'bullish' if sign > 0 else 'bearish'}, {state}; its "
        f"score is {served.score.percent:.1f}% as of its last bar; when it was drawn on "
        f"{served.since} it was {float(served.version['quality']):.1f}%."
    )
    out.print(f"Upper line {_line(served.upper)}; lower line {_line(served.lower)}.")
    if served.score.parts:
        out.print(_parts(served.score))


def _parts(score: Score) -> Table:
    table = Table("part", "value", "log-odds", "why it counts")
    table.add_row("best score of the type", "", f"{score.best:+.2f}", "")
    for part in sorted(score.parts, key=lambda part: part.added):
        table.add_row(part.name, f"{part.value:.3g}", f"{part.added + 0.0:+.2f}", part.reason)
    total = score.best + sum(part.added for part in score.parts)
    table.add_row("sum", "", f"{total:+.2f}", f"a score of {score.percent:.1f}%")
    return table


def _print_candidates(explained: Explanation) -> None:
    """Print the pairs of lines by how far they came, those together that look the same."""
    drawings: dict[tuple[str, ...], int] = {}
    for candidate in explained.candidates:
        cells = _cells(candidate)
        drawings[cells] = drawings.get(cells, 0) + 1
    if not drawings:
        out.print(
            "No trend line above price has one of its scale below it, so there is nothing to judge."
        )
        return
    lines = ("upper line to today", "lower line to today")
    table = Table("pairs", "scale", "pattern", *lines, "score", "rule", "value", "bound")
    for cells, pairs in list(drawings.items())[:MOST]:
        table.add_row(str(pairs), *cells)
    out.print()
    out.print(
        "The drawings that came furthest, and the first rule that each fails (docs/detector.md); "
        "several pairs may be fitted to the same lines:"
    )
    out.print(table)


def _cells(candidate: Candidate) -> tuple[str, ...]:
    failed = candidate.fate is Fate.FAILED
    return (
        candidate.scale.name.lower(),
        kind_name(candidate.kind) if candidate.kind else "-",
        _line(candidate.upper),
        _line(candidate.lower),
        f"{candidate.score.percent:.1f}%" if candidate.score else "-",
        *(rule_cells(candidate.finding) if failed else (candidate.fate.value, "", "")),
    )


def rule_cells(finding: Finding) -> tuple[str, str, str]:
    """The rule that a pair of lines fails, its value and its bound as docs/detector.md has them,
    never rounded so far that they look equal.
    """
    rule, value, bound = Rule(finding.rule), finding.value, finding.bound
    name = rule.name.lower().replace("_", " ")
    digits = next(n for n in (3, 6, 17) if n == 17 or f"{value:.{n}g}" != f"{bound:.{n}g}")
    if rule is Rule.CONVERGENCE and value > bound:
        return "the lines part", f"{value:.3g}", "-"
    return name, f"{value:.{digits}g}", f"at {'least' if value < bound else 'most'} {bound:g}"


def kind_name(kind: PatternType) -> str:
    """A pattern type as readers know it: squeezes are served as pennants."""
    if kind in SQUEEZES:
        return FAMILIES[family_index(kind)].label.lower()
    return type_name(kind).replace("_", " ")


def _line(line: Line) -> str:
    return f"{line.start} to {dollars(line.price)}"
