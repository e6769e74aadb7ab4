"""`screener detect SYMBOL`: why a symbol has a pattern on a session, or why it has none.

It brings numba and Polars, so the command imports it only when it is asked for.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Sequence
from itertools import islice

from screener.nightly.analysis import Task, currency_of
from screener.nightly.bars import to_date
from screener.nightly.cleaning.gates import gap_days
from screener.nightly.detector.events import PatternType, Rule
from screener.nightly.detector.kernel.naming import Finding
from screener.nightly.errors import SourceError
from screener.nightly.explain import (
    SQUEEZES,
    Decision,
    DrawnLine,
    JudgedPair,
    ServedPattern,
    explain,
)
from screener.nightly.plan import Order, plan
from screener.nightly.reading.source import Loaded
from screener.nightly.reference.reference import Listing
from screener.nightly.results.views import direction_name, family_of_type, type_name
from screener.nightly.series import Series
from screener.nightly.symbols import normalise
from screener.settings.console import Table, out
from store.wire.currency import money
from store.wire.words import drawing_words, named, plural, rule_words

MAX_LISTED = 10
"""Drawings that are shown: those that came furthest."""


def print_explanation(order: Order, symbol: str) -> None:
    """Print the explanation of a symbol as of the session of an order.

    Raises:
        SourceError: the symbol has no bars that can be explained, or none at the session.
    """
    task, loaded, listing = load_symbol(order, symbol)
    series, currency = _series(task, loaded, listing, order.session)
    explained = explain(series, order.parameters, gap_days=gap_days(listing.calendar))
    patterns = plural(len(explained.served), "pattern")
    judged = plural(len(explained.pairs), "pair")
    where = f"{listing.symbol} on {explained.session}"
    out.print(f"{where}: {patterns} served, {judged} of lines judged.")
    if order.session not in (None, explained.session):
        out.print(f"There is no bar for {order.session}; this is as of the last bar before it.")
    for served in explained.served:
        _print_served(served, currency)
    if not explained.served:
        words = drawing_words(explained.nearest.model_dump(mode="json"))
        out.print_text(f"{words[:1].upper()}{words[1:]}.")
    _print_pairs(explained.pairs, currency)


def load_symbol(order: Order, symbol: str) -> tuple[Task, Loaded, Listing]:
    """The bars of a symbol, not cleaned yet, its listing, and the task that has it.

    Raises:
        SourceError: the order has no bars of it that can be used.
    """
    planned, wanted = plan(order, dt.datetime.now(dt.UTC)), normalise(symbol)
    for task in planned.tasks:
        for raw, listing in task.symbols:
            if listing.symbol == wanted:
                (loaded,) = task.source.load([raw])
                return task, loaded, listing
    if symbol in planned.refused:
        raise SourceError(f"{symbol} cannot be used: {planned.refused[symbol].reason}")
    raise SourceError(
        f"{order.name} has no bars of {symbol}; name one of its symbols ({named(planned.symbols)})."
    )


def _series(
    task: Task, loaded: Loaded, listing: Listing, session: dt.date | None
) -> tuple[Series, str]:
    """The newest series of a symbol up to the session, as a night would walk it."""
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
    return cleaned.series[-1], currency_of(loaded, listing, task.currency)[0]


def _print_served(served: ServedPattern, currency: str) -> None:
    version, trade = served.version, served.trade
    direction = direction_name(int((version if trade is None else trade)["direction"]))
    state = "forming" if trade is None else "broken out, its trade is open"
    out.print()
    out.print(
        f"Served: {kind_name(PatternType(int(version['type'])))}, {direction}, {state}; when it "
        f"was drawn on {served.since} its score was {float(version['quality']):.1f}%."
    )
    out.print(
        f"Upper line {_line(served.upper, currency)}; lower line {_line(served.lower, currency)}."
    )


def _print_pairs(pairs: Sequence[JudgedPair], currency: str) -> None:
    """Print the pairs of lines by how far they came, those together that look the same."""
    if not pairs:
        out.print(
            "No trend line above price has one of its scale below it, so there is nothing to judge."
        )
        return
    lines = ("upper line to today", "lower line to today")
    table = Table("pairs", "scale", "pattern", *lines, "score", "what it fails", "is", "needs")
    drawings = Counter(_cells(pair, currency) for pair in pairs)
    for cells, number in islice(drawings.items(), MAX_LISTED):
        table.add_row(str(number), *cells)
    out.print()
    out.print(
        "The drawings that came furthest, and the first rule that each fails, in the words of "
        "docs/detector.md, sections 3 to 5; several pairs may be fitted to the same lines:"
    )
    out.print(table)


def _cells(pair: JudgedPair, currency: str) -> tuple[str, ...]:
    failed = pair.decision is Decision.FAILED
    return (
        pair.scale.name.lower(),
        kind_name(pair.kind) if pair.kind else "-",
        _line(pair.upper, currency),
        _line(pair.lower, currency),
        "-" if pair.score is None else f"{pair.score:.1f}%",
        *(rule_cells(pair.finding) if failed else (pair.decision.value, "", "")),
    )


def rule_cells(finding: Finding) -> tuple[str, str, str]:
    """The rule that a pair of lines fails, its value and its bound as docs/detector.md has them."""
    rule, value, bound = Rule(finding.rule), finding.value, finding.bound
    if rule is Rule.CONVERGENCE and value > bound:
        return "the lines part", f"{value:.3g}", "-"
    return rule_words(rule.name.lower(), value, bound)


def kind_name(kind: PatternType) -> str:
    """A pattern type as readers know it: squeezes are served as pennants."""
    if kind in SQUEEZES:
        return family_of_type(kind).label.lower()
    return type_name(kind).replace("_", " ")


def _line(line: DrawnLine, currency: str) -> str:
    return f"{line.start} to {money(line.price, currency)}"
