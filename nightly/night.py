"""One night, from bars to a published book: calls everything else in order."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from itertools import islice

from nightly.analysis import Analysis, Task, analyse
from nightly.assembly import Statistics, universe
from nightly.errors import NightlyError, Refusal
from nightly.market import Returns
from nightly.plan import Order, Step, held_back, inputs_of, plan, pool_of, renamed, silent
from nightly.pool import Pool
from nightly.report import Report
from nightly.scan import Candidate, label_columns, number_columns
from store.checkpoints import Checkpoints
from store.errors import HeldBackError, ManifestError, SealedError
from store.manifest import Manifest, derive_version
from store.nights import Nights
from store.publish import BookWriter
from store.records import Patterns

SOME = 3
"""Symbols whose reasons are given if none can be used."""

FINDING = "finding patterns (compiling them first on a new machine)"


def make_night(
    order: Order,
    nights: Nights,
    *,
    now: dt.datetime,
    step: Step = silent,
    checkpoints: Checkpoints | None = None,
) -> tuple[Manifest, Report]:
    """Analyse every symbol and publish the results as one night.

    The bytes of the night are the same with and without `checkpoints` of an earlier night.

    Raises:
        NightlyError: no bars can be used, or a worker failed.
        HeldBackError: too many symbols are behind the session.
        SealedError: the night is already sealed, and only a new one was asked for.
        StoreError: the night did not pass its checks; the active night stays.
    """
    step("reading the source", 0, 0)
    chosen = plan(order, now)
    fall = None if order.accept_fall else held_back(order, chosen)
    if fall:
        raise HeldBackError(f"{fall}.")
    inputs = inputs_of(order, chosen)
    if order.only_new:
        labels = (order.source_label, order.disclaimer)
        _check_new(nights, derive_version(chosen.as_of, *labels, inputs))
    writer = BookWriter(
        nights,
        session=chosen.as_of,
        source=order.source_label,
        disclaimer=order.disclaimer,
        inputs=inputs,
        upcoming=chosen.upcoming,
        accept_fall=order.accept_fall,
    )
    with ExitStack() as stack:
        stack.enter_context(writer)
        keep = stack.enter_context(checkpoints.replacing()) if checkpoints else _forget
        pool = stack.enter_context(pool_of(chosen))
        tasks = (_prepared(task, order, checkpoints) for task in chosen.tasks)
        market: list[Returns] = []
        found = _analyses(tasks, len(chosen.symbols), pool, step, market)
        analyses = list(_written(writer, order, found, keep))
        step("putting it together", 0, 0)
        _check_usable(analyses, chosen.refused)
        _write_unread(writer, order, analyses)
        returns = Returns.total(market)
        statistics = Statistics(analyses, returns, chosen.as_of, order.parameters.detector)
        candidates = _write_patterns(writer, analyses, statistics)
        _write_scan(writer, candidates)
        for entry in statistics.entries():
            writer.add_family(entry)
        writer.add_universe(list(universe(analyses)))
        report = Report.of(analyses, chosen.refused, statistics, candidates, order.adjustment)
        report = replace(report, later=chosen.later, inferred=chosen.inferred)
        read = {**order.told, "renamed": renamed(chosen)}
        writer.add_meta("report", {**report.as_dict(), "source": read})
        writer.add_method(statistics.method)
        manifest = writer.publish(statistics.resolved(), partial(_sealing, step))
    return manifest, report


def _check_new(nights: Nights, version: str) -> None:
    sealed = next((night for night in nights.sealed() if night.data_version == version), None)
    if sealed is None or not nights.was_active(version):
        return  # a night that was never active was left by a run killed before activating it
    try:
        nights.verify(version)
    except ManifestError:
        return  # the sealed book is damaged; make the night again
    raise SealedError(
        f"Nothing new: session {sealed.as_of_session} of these bars is already sealed as "
        f"{version}; if another night is active, `screener night activate {version}` serves this "
        "one."
    )


def _sealing(step: Step, name: str) -> None:
    step(name, 0, 0)


def _forget(_symbol: str, _kept: bytes) -> None:
    return None


def _prepared(task: Task, order: Order, checkpoints: Checkpoints | None) -> Task:
    """A task with the checkpoints of its symbols, read only now because all would not fit."""
    kept = checkpoints.read(listing.symbol for _, listing in task.symbols) if checkpoints else {}
    return replace(task, kept=kept, check=order.full)


def _analyses(
    tasks: Iterable[Task], total: int, pool: Pool, step: Step, market: list[Returns]
) -> Iterator[Analysis]:
    """The analyses as they arrive; the sum of all returns so far is in `market`."""
    step(FINDING, 0, total)
    done = 0
    for batch in pool.run(analyse, tasks):
        done += len(batch.analyses)
        market[:] = [Returns.total([*market, batch.returns])]
        step(FINDING, done, total)
        yield from batch.analyses


def _check_usable(analyses: Sequence[Analysis], left: Mapping[str, Refusal]) -> None:
    if any(analysis.covered for analysis in analyses):
        return
    own = {analysis.symbol: analysis.refusal for analysis in analyses if analysis.refusal}
    refused = {**own, **left}
    said = " ".join(refusal.of(name) for name, refusal in islice(refused.items(), SOME))
    more = f" And {len(refused) - SOME:,} more." if len(refused) > SOME else ""
    raise NightlyError(
        f"None of {len(analyses):,} symbols can be used. {said}{more} Check the bars and "
        "--session; `screener bars check PATH` names them all."
    )


def _written(
    writer: BookWriter,
    order: Order,
    analyses: Iterable[Analysis],
    keep: Callable[[str, bytes], None],
) -> Iterator[Analysis]:
    """Store each analysis as it arrives, and yield it without its large, already stored parts."""
    charted = 0
    for analysis in analyses:
        reason = analysis.refusal.code if analysis.refusal else None
        writer.add_symbol(analysis.symbol, covered=analysis.covered, reason=reason)
        if analysis.history is not None:
            writer.add_history(analysis.symbol, analysis.history.outcomes, analysis.history.bodies)
        if analysis.prices is not None and charted != order.chart_symbols:
            writer.add_prices(analysis.symbol, analysis.prices)
            charted += 1
        if analysis.kept is not None:
            keep(analysis.symbol, analysis.kept)
        yield replace(analysis, history=None, prices=None, kept=None)


def _write_unread(writer: BookWriter, order: Order, analyses: Sequence[Analysis]) -> None:
    """Add the symbols that are in the reference but not in the source."""
    read = {analysis.symbol for analysis in analyses}
    for symbol in sorted(set(order.reference) - read):
        writer.add_symbol(symbol, covered=False, reason="no_bars")


def _write_patterns(
    writer: BookWriter, analyses: Sequence[Analysis], statistics: Statistics
) -> list[Candidate]:
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


def _write_scan(writer: BookWriter, candidates: Sequence[Candidate]) -> None:
    ranked = sorted(candidates, key=lambda candidate: candidate.order)
    writer.add_scan(candidate.row(rank) for rank, candidate in enumerate(ranked, 1))
    for name, values in number_columns(ranked).items():
        writer.add_numbers(name, values)
    for name, labels in label_columns(ranked).items():
        writer.add_labels(name, labels)
