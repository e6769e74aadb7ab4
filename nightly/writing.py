"""Writing: what the analyses of a night and its statistics put into the book."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from nightly.analysis import Analysis
from nightly.assembly import Statistics, universe
from nightly.history import FACTS
from nightly.plan import Order
from nightly.scan import Candidate, label_columns, number_columns
from store.nights.publish import BookWriter
from store.wire.records import Patterns, TickerRecord

Keep = Callable[[str, bytes], None]
"""Keeps the checkpoint of a symbol."""


def written(
    writer: BookWriter,
    order: Order,
    analyses: Iterable[Analysis],
    keep: Keep,
) -> Iterator[Analysis]:
    """Store each analysis as it arrives, and yield it without its large, already stored parts."""
    charted = 0
    for analysis in analyses:
        reason = analysis.refusal.code if analysis.refusal else None
        writer.add_symbol(analysis.symbol, covered=analysis.covered, reason=reason)
        if analysis.history is not None:
            writer.add_history(analysis.symbol, analysis.history.outcomes, analysis.history.bodies)
        # A limit is for the charts of setups, which clients are served.
        most = order.chart_symbols
        room = most is None or (analysis.formations and charted < most)
        if analysis.prices is not None and room:
            writer.add_prices(analysis.symbol, analysis.prices)
            charted += 1
        if analysis.kept is not None:
            keep(analysis.symbol, analysis.kept)
        yield replace(
            analysis,
            history=None,
            prices=None,
            kept=None,
            # An array that was joined, or came from a worker, describes its columns anew: 1 KB.
            facts=analysis.facts.astype(FACTS),
            features=analysis.features if analysis.formations else None,
        )


def write_unread(writer: BookWriter, order: Order, analyses: Sequence[Analysis]) -> None:
    """Add the symbols that are in the reference but not in the source."""
    read = {analysis.symbol for analysis in analyses}
    for symbol in sorted(set(order.reference) - read):
        writer.add_symbol(symbol, covered=False, reason="no_bars")


def write_statistics(
    writer: BookWriter, analyses: Sequence[Analysis], statistics: Statistics
) -> None:
    """Add the records of families and tickers, the universe and the method record."""
    for entry in statistics.entries():
        writer.add_family(entry)
    for analysis in analyses:
        if analysis.covered:
            records = statistics.records(analysis)
            symbol = analysis.symbol
            writer.add_ticker_record(TickerRecord(symbol=symbol, available=True, records=records))
    writer.add_universe(list(universe(analyses)))
    writer.add_method(statistics.method)


def write_patterns(
    writer: BookWriter, analyses: Sequence[Analysis], statistics: Statistics
) -> list[Candidate]:
    """Add the setups of every symbol, and return them."""
    everyone = []
    for analysis in analyses:
        candidates = statistics.candidates(analysis)
        setups = [candidate.setup() for candidate in candidates]
        if analysis.bars or not analysis.covered:
            writer.add_patterns(
                Patterns(
                    symbol=analysis.symbol,
                    available=analysis.covered,
                    reason=None if analysis.covered else "not_covered",
                    setups=setups,
                )
            )
        for candidate, setup in zip(candidates, setups, strict=True):
            writer.add_setup(setup, candidate.formation.evidence)
        everyone += candidates
    return everyone


def write_scan(writer: BookWriter, candidates: Sequence[Candidate]) -> None:
    """Add the setups in the order of the scan, with what it filters by."""
    ranked = sorted(candidates, key=lambda candidate: candidate.order)
    writer.add_scan(candidate.row(rank) for rank, candidate in enumerate(ranked, 1))
    for name, values in number_columns(ranked).items():
        writer.add_numbers(name, values)
    for name, labels in label_columns(ranked).items():
        writer.add_labels(name, labels)
