"""One night, from bars to a published book: the order in which everything else is called."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Any

from nightly.analysis import Analysis, Task, analyse
from nightly.assembly import Statistics, universe
from nightly.bars import to_day
from nightly.cluster import cluster_pool
from nightly.errors import NightlyError, Refusal
from nightly.parameters import Parameters
from nightly.pool import INLINE, Pool, batches, local_pool
from nightly.reference import Adjustment, Listing, Reference
from nightly.report import Report
from nightly.scan import Candidate, label_columns, number_columns
from nightly.sessions import Ends, as_of_session, last_begun, windows
from nightly.sources import BarSource
from nightly.symbols import resolve
from nightly.version import code_version
from store.checkpoints import Checkpoints
from store.errors import ManifestError, SealedError
from store.manifest import Inputs, Manifest, derive_version
from store.nights import Nights
from store.publish import BookWriter
from store.records import Patterns

MAX_RENAMED = 1000

FINDING = "finding patterns (compiling them first on a new machine)"

Step = Callable[[str, int, int], None]
"""Progress: the name of a step, how much of it is done, and how much there is."""


def silent(_name: str, _done: int, _total: int) -> None:
    """No progress."""


@dataclass(frozen=True, slots=True)
class Order:
    """What to make a night of."""

    source: BarSource
    name: str
    """What the source is called in the manifest: `sample`, or a file's or folder's own name."""
    told: Mapping[str, Any] = field(default_factory=dict)
    """How the source was read: its forms and columns, for the report."""
    reference: Reference = field(default_factory=Reference)
    reference_sha256: str | None = None
    adjustment: Adjustment = "split"
    session: dt.date | None = None
    """The session to stop at; the newest that enough symbols reach when None."""
    jobs: int = 1
    executor: str | None = None
    """The address of a Dask scheduler that has the work done; this machine does it when None."""
    source_label: str = "nightly"
    disclaimer: str = ""
    chart_symbols: int | None = None
    """How many symbols keep the prices that charts need, by symbol; all when None."""
    accept_fall: bool = False
    full: bool = False
    """Whether to walk every bar and compare with what the last night kept."""
    only_new: bool = False
    """Whether to stop where the night is sealed already."""


@dataclass(frozen=True, slots=True)
class Plan:
    """An order, once its source was looked through: who is read, up to which session."""

    tasks: Sequence[Task]
    symbols: Sequence[str]
    as_of: dt.date
    crypto_until: dt.date
    """The last finished day of crypto, which may be the one before."""
    refused: Mapping[str, Refusal]
    """Raw names that cannot be symbols."""
    later: Sequence[str]
    """Symbols with later sessions, which too few others reach."""
    future_dates: int
    """How many symbols have a bar of a day to come."""
    workers: int | str
    """How many processes of this machine do the work, or the address of who does it."""


def plan(order: Order, now: dt.datetime) -> Plan:
    """Look the source through and settle the session.

    Raises:
        NightlyError: no name in it is a symbol, or no bar lies before the session.
    """
    last_days = order.source.last_days()
    resolved = resolve(order.source.names())
    symbols = sorted(resolved.raw_of)
    listings = [(resolved.raw_of[s], order.reference.listing(s)) for s in symbols]
    ends = [(its, last_days[raw]) for raw, its in listings if raw in last_days]
    days = [(its.asset_type, day) for its, day in ends]
    as_of = as_of_session(days, now=now, requested=order.session)
    known = windows(as_of, now)
    jobs = 1 if len(listings) <= INLINE and order.executor is None else order.jobs
    shared = (as_of, known, order.adjustment, code_version())
    return Plan(
        [Task(order.source, batch, *shared) for batch in batches(listings, jobs)],
        symbols,
        as_of,
        crypto_until=known["crypto"].last,
        refused=resolved.refused,
        later=_later(ends, as_of, now) if order.session is None else (),
        future_dates=sum(day > to_day(last_begun(now)) for _, day in days),
        workers=order.executor or jobs,
    )


def _later(ends: Sequence[tuple[Listing, int]], as_of: dt.date, now: dt.datetime) -> Sequence[str]:
    """Symbols that would have given the night a later session, were they not too few."""
    known = Ends.of(((its.asset_type, day) for its, day in ends), now)
    if known.newest(now) == as_of:
        return ()
    begun = to_day(last_begun(now))
    return [
        its.symbol
        for its, day in ends
        if its.crypto != bool(known.stocks) and to_day(as_of) < day <= begun
    ]


def pool_of(chosen: Plan) -> AbstractContextManager[Pool]:
    """Those who do the work of a plan."""
    if isinstance(chosen.workers, str):
        return cluster_pool(chosen.workers)
    return local_pool(chosen.workers)


def renamed(plan: Plan) -> dict[str, str]:
    """The symbol of each raw name that is spelled otherwise, up to `MAX_RENAMED`."""
    pairs = ((raw, known.symbol) for task in plan.tasks for raw, known in task.symbols)
    return dict(islice(((raw, to) for raw, to in pairs if raw.upper() != to), MAX_RENAMED))


def make_night(
    order: Order,
    nights: Nights,
    *,
    now: dt.datetime,
    step: Step = silent,
    checkpoints: Checkpoints | None = None,
) -> tuple[Manifest, Report]:
    """Analyse every symbol and publish what was found as one night.

    The bytes of the night are the same with `checkpoints` of an earlier night and without.

    Raises:
        NightlyError: the bars cannot be used at all, or those who work on them fail.
        SealedError: the night is sealed already, and only a new one was asked for.
        StoreError: the night did not pass its gates; the active one stays.
    """
    step("reading the source", 0, 0)
    chosen = plan(order, now)
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
        accept_fall=order.accept_fall,
    )
    with ExitStack() as stack:
        stack.enter_context(writer)
        keep = stack.enter_context(checkpoints.replacing()) if checkpoints else _forget
        pool = stack.enter_context(pool_of(chosen))
        tasks = (_prepared(task, order, checkpoints) for task in chosen.tasks)
        found = _analyses(tasks, len(chosen.symbols), pool, step)
        analyses = list(_written(writer, order, found, keep))
        step("putting it together", 0, 0)
        _check_usable(analyses)
        _write_unread(writer, order, analyses)
        statistics = Statistics(analyses, chosen.as_of)
        candidates = _write_patterns(writer, analyses, statistics)
        _write_scan(writer, candidates)
        for entry in statistics.entries():
            writer.add_family(entry)
        writer.add_universe(list(universe(analyses)))
        report = Report.of(analyses, chosen.refused, statistics, candidates, order.adjustment)
        report = replace(report, later=chosen.later)
        read = {**order.told, "renamed": renamed(chosen)}
        writer.add_meta("report", {**report.as_dict(), "source": read})
        writer.add_method(statistics.method)
        manifest = writer.publish(statistics.resolved(), partial(_sealing, step))
    return manifest, report


def _check_new(nights: Nights, version: str) -> None:
    sealed = next((night for night in nights.sealed() if night.data_version == version), None)
    if sealed is None or not nights.was_active(version):
        return  # or a run was killed before its night became the active one
    try:
        nights.verify(version)
    except ManifestError:
        return  # the same bars make it anew
    raise SealedError(
        f"Nothing new: session {sealed.as_of_session} of these bars is sealed as {version}; "
        f"`screener night activate {version}` serves it if another one is."
    )


def _sealing(step: Step, name: str) -> None:
    step(name, 0, 0)


def _forget(_symbol: str, _kept: bytes) -> None:
    return None


def _prepared(task: Task, order: Order, checkpoints: Checkpoints | None) -> Task:
    """A task with what is kept of its symbols, read when it is sent: all at once is too much."""
    kept = checkpoints.read(listing.symbol for _, listing in task.symbols) if checkpoints else {}
    return replace(task, kept=kept, check=order.full)


def _analyses(tasks: Iterable[Task], total: int, pool: Pool, step: Step) -> Iterator[Analysis]:
    step(FINDING, 0, total)
    done = 0
    for batch in pool.run(analyse, tasks):
        done += len(batch)
        step(FINDING, done, total)
        yield from batch


def _check_usable(analyses: Sequence[Analysis]) -> None:
    if any(analysis.covered for analysis in analyses):
        return
    codes = sorted({analysis.refusal.code for analysis in analyses if analysis.refusal})
    raise NightlyError(
        f"None of {len(analyses)} symbols can be used ({', '.join(codes)}); check the bars and "
        "--session."
    )


def _written(
    writer: BookWriter,
    order: Order,
    analyses: Iterable[Analysis],
    keep: Callable[[str, bytes], None],
) -> Iterator[Analysis]:
    """The analyses as they come, without what is stored at once: it is most of their size."""
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
    """The symbols that the reference knows and the bars do not."""
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


def inputs_of(order: Order, chosen: Plan) -> Inputs:
    """What a night is made from, as its manifest names it."""
    # The clock decides it beside the bars, so the version must tell.
    cut = {"crypto_until": chosen.crypto_until.isoformat()}
    # Days to come become fewer as time goes by: their number tells which symbols have one.
    ahead = {"future_dates": chosen.future_dates}
    return Inputs(
        bars=order.name,
        bars_sha256=order.source.digest(),
        reference_sha256=order.reference_sha256,
        parameters={
            **Parameters()._asdict(),
            "adjustment": order.adjustment,
            "chart_symbols": order.chart_symbols,
            **(cut if chosen.crypto_until < chosen.as_of else {}),
            **(ahead if chosen.future_dates else {}),
        },
        code_version=code_version(),
    )
