"""One night, from bars to a published book: calls everything else in order."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

from nightly.analysis import Analysis, Task, analyse
from nightly.assembly import Statistics
from nightly.errors import NightlyError, Refusal
from nightly.kernel.compiler import is_compiled
from nightly.market import Returns
from nightly.plan import Order, Plan, Step, held_back, inputs_of, plan, pool_of, renamed, silent
from nightly.pool import Pool
from nightly.report import Report
from nightly.served import FollowUp, LastNight
from nightly.writing import (
    Keep,
    write_patterns,
    write_scan,
    write_statistics,
    write_unread,
    written,
)
from store.errors import HeldBackError, ManifestError, SealedError
from store.folder.checkpoints import Checkpoints
from store.ledger.ledger import Ledger, NightEntry
from store.ledger.manifest import SAMPLE, Inputs, Manifest, derive_version
from store.ledger.objects import NightHead
from store.nights.nights import Nights
from store.nights.publish import BookWriter
from store.wire.method import METHOD

LeaveOut = Callable[[str, str, str], None]
"""Hears what is left out as soon as that is known: its name, the code and the reason."""

SOME = 3
"""Symbols whose reasons are given if none can be used."""

FINDING = "finding patterns"
COMPILING = "compiling the detector"
"""The step before, on a machine on which this version has not run yet."""


def make_night(
    order: Order,
    nights: Nights,
    *,
    now: dt.datetime,
    step: Step = silent,
    checkpoints: Checkpoints | None = None,
    compared: Ledger | None = None,
    leave_out: LeaveOut | None = None,
) -> tuple[Manifest, Report]:
    """Analyse every symbol and publish the results as one night.

    The bytes of the night are the same with and without `checkpoints` of an earlier night. The
    night is compared with the last one in the ledger and added to it; if it is only tried out, it
    is `compared` with the nights of another ledger, and added to none. `leave_out` hears of each
    symbol and file that is left out.

    Raises:
        NightlyError: no bars can be used, or a worker failed.
        HeldBackError: too many symbols are behind the session.
        SealedError: the night is already sealed, and only a new one was asked for.
        WithdrawnError: the night was withdrawn, and nothing that shapes it has changed.
        StoreError: the night did not pass its checks; the active night stays.
    """
    step("reading the source", 0, 0)
    chosen = plan(order, now)
    hear = leave_out or _unheard
    for name, refusal in chosen.refused.items():
        hear(name, refusal.code, refusal.reason)
    ledger = compared or nights.ledger
    if not order.accept_fall:
        fall = held_back(order, chosen) or _set_back(ledger, chosen.as_of, now)
        if fall:
            raise HeldBackError(f"{fall}.")
    last = LastNight.of(ledger, chosen.as_of, sample=order.name == SAMPLE)
    run = _Run(order, chosen, last, inputs_of(order, chosen, last.version if last else None), now)
    ledger.check_kept(run.version)
    if order.only_new:
        _check_new(nights, run.version)
    with run.writer(nights) as writer, _keeping(checkpoints) as keep:
        prepared = partial(_prepared, run, checkpoints)
        analyses, returns = _analysed(writer, run, prepared, keep, step, hear)
        step("putting it together", 0, 0)
        _check_usable(analyses, chosen.refused)
        report, served = _write(writer, run, analyses, returns)
        resolved = sum(e.track_record.sample_size for e in report.families if e.track_record)
        manifest = writer.publish(resolved, partial(_sealing, step), None if compared else served)
    return manifest, report


@dataclass(frozen=True, slots=True)
class _Run:
    """One night in the making: what was ordered, what was planned, and what it is compared with."""

    order: Order
    chosen: Plan
    last: LastNight | None
    inputs: Inputs
    now: dt.datetime

    @property
    def version(self) -> str:
        labels = (self.order.source_label, self.order.disclaimer)
        return derive_version(self.chosen.as_of, *labels, self.inputs)

    def writer(self, nights: Nights) -> BookWriter:
        return BookWriter(
            nights,
            session=self.chosen.as_of,
            source=self.order.source_label,
            disclaimer=self.order.disclaimer,
            inputs=self.inputs,
            upcoming=self.chosen.upcoming,
            accept_fall=self.order.accept_fall,
        )


def _keeping(checkpoints: Checkpoints | None) -> AbstractContextManager[Keep]:
    return checkpoints.replacing() if checkpoints else nullcontext(_forget)


def _analysed(
    writer: BookWriter,
    run: _Run,
    prepared: Callable[[Task], Task],
    keep: Keep,
    step: Step,
    hear: LeaveOut,
) -> tuple[list[Analysis], Returns]:
    """The analyses of all symbols, stored as they arrive, and the sum of the returns of stocks."""
    returns: list[Returns] = []
    with pool_of(run.chosen) as pool:
        tasks = map(prepared, run.chosen.tasks)
        found = _analyses(tasks, len(run.chosen.symbols), pool, step, returns, hear)
        analyses = list(written(writer, run.order, found, keep))
    return analyses, Returns.total(returns)


def _write(
    writer: BookWriter, run: _Run, analyses: Sequence[Analysis], returns: Returns
) -> tuple[Report, NightEntry]:
    """Write everything that needs all symbols: the report, and what the ledger keeps."""
    order, last = run.order, run.last
    write_unread(writer, order, analyses)
    follow_up = FollowUp.of(analyses, run.chosen.as_of, last)
    detector = order.parameters.detector
    statistics = Statistics(analyses, returns, run.chosen.as_of, detector, follow_up.as_served())
    candidates = write_patterns(writer, analyses, statistics)
    write_scan(writer, candidates)
    write_statistics(writer, analyses, statistics)
    writer.add_changes((last.session, last.version) if last else None, follow_up.changes)
    report = replace(
        Report.of(analyses, run.chosen.refused, statistics, candidates, order.adjustment),
        later=run.chosen.later,
        wider=run.chosen.wider,
        inferred=run.chosen.inferred,
        since=last.session if last else None,
        changes=follow_up.changes,
    )
    read = {**order.told, "renamed": renamed(run.chosen)}
    writer.add_meta("report", {**report.as_dict(), "source": read})
    return report, follow_up.entry(candidates, detector=detector, method=METHOD, now=run.now)


def _set_back(ledger: Ledger, session: dt.date, now: dt.datetime) -> str | None:
    """Why a night is held back: the clock was set back since the last one; else None."""
    names = [name for name in ledger.names() if not name.withdrawal]
    last = ledger.head(names[-1]) if names else None
    if not isinstance(last, NightHead) or now >= last.published_at:
        return None
    if session >= last.as_of_session:
        return None
    return (
        f"The clock says {now:%Y-%m-%d}, but the last night, which is of a later session than "
        f"{session}, was published on {last.published_at:%Y-%m-%d}; set the clock right, or "
        "publish this night anyway with --accept-fall"
    )


def _check_new(nights: Nights, version: str) -> None:
    sealed = next((night for night in nights.sealed() if night.data_version == version), None)
    if sealed is None or version not in nights.ledger.recorded():
        return  # a night without a record was left by a run killed before it ended
    try:
        nights.verify(version)
    except ManifestError:
        return  # the sealed book is damaged; make the night again
    raise SealedError(
        f"Nothing new: the night of {sealed.as_of_session} was already made from these bars. If "
        f"another one is served, `screener night activate {version}` brings it back."
    )


def _sealing(step: Step, name: str) -> None:
    step(name, 0, 0)


def _forget(_symbol: str, _kept: bytes) -> None:
    return None


def _unheard(_name: str, _code: str, _reason: str) -> None:
    return None


def _prepared(run: _Run, checkpoints: Checkpoints | None, task: Task) -> Task:
    """A task with what is kept of its symbols: what the last night served of them, and their
    checkpoints, read only now because all would not fit.
    """
    symbols = [listing.symbol for _, listing in task.symbols]
    kept = checkpoints.read(symbols) if checkpoints else {}
    earlier = run.last.of_symbols(symbols) if run.last else None
    return replace(task, kept=kept, check=run.order.full, earlier=earlier)


def _analyses(
    tasks: Iterable[Task],
    total: int,
    pool: Pool,
    step: Step,
    market: list[Returns],
    hear: LeaveOut,
) -> Iterator[Analysis]:
    """The analyses as they arrive; the sum of all returns so far is in `market`."""
    name, known = (FINDING, total) if is_compiled() else (COMPILING, 0)
    step(name, 0, known)
    done = 0
    for batch in pool.run(analyse, tasks):
        for analysis in batch.analyses:
            if analysis.refusal is not None:
                hear(analysis.symbol, analysis.refusal.code, analysis.refusal.reason)
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
