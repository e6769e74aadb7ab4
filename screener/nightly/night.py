"""One night, from bars to a published book: calls everything else in order."""

from __future__ import annotations

import datetime as dt
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from itertools import islice

from screener.nightly.analysis import Task, analyse
from screener.nightly.bars import to_date
from screener.nightly.detector.kernel.compiler import is_compiled
from screener.nightly.errors import NightlyError, RefusedInput
from screener.nightly.follow_up import FollowUp, PreviousNight
from screener.nightly.memo import Kept, kept_of
from screener.nightly.plan import Order, held_back, inputs_of, plan, pool_of, renamed
from screener.nightly.reading.source import Step, silent
from screener.nightly.report import Report
from screener.nightly.results.history import FACTS
from screener.nightly.results.returns import Returns
from screener.nightly.results.symbol_results import Analysis
from screener.nightly.statistics.assembly import Statistics, universe
from screener.nightly.statistics.scan import RankedSetup, label_columns, number_columns
from store.errors import HeldBackError, ManifestError, SealedError
from store.folder.checkpoints import Checkpoints, Keep
from store.ledger.ledger import Ledger, NightEntry
from store.ledger.manifest import SAMPLE, Manifest, derive_version
from store.ledger.objects import NightHead
from store.nights.book import stored_histories
from store.nights.nights import Nights
from store.nights.publish import BookWriter
from store.wire.currency import DOLLARS
from store.wire.method import METHOD
from store.wire.records import Patterns, TickerRecord

LeaveOut = Callable[[str, str, str], None]
"""Hears what is left out as soon as that is known: its name, the code and the reason."""

MAX_EXAMPLES = 3
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
    run = NightRun(order, nights, now, step, leave_out, compared or nights.ledger)
    keeping = checkpoints.replacing() if checkpoints else nullcontext()
    with run.writer() as writer, keeping as keep:
        symbols = SymbolsRun(run, writer, checkpoints, keep)
        symbols.analyse()
        step("putting it together", 0, 0)
        run.check_usable(symbols.analyses)
        report, served = run.write(writer, symbols.analyses, symbols.returns)
        resolved = sum(e.track_record.sample_size for e in report.families if e.track_record)
        manifest = writer.publish(
            resolved, lambda name: step(name, 0, 0), None if compared else served
        )
    return manifest, report


class NightRun:
    """One night in the making: what was ordered, what was planned, and what it is compared with."""

    def __init__(
        self,
        order: Order,
        nights: Nights,
        now: dt.datetime,
        step: Step,
        leave_out: LeaveOut | None,
        ledger: Ledger,
    ) -> None:
        """Plan the night, and check that it may be made."""
        step("reading the source", 0, 0)
        self.order, self.nights, self.now, self.step = order, nights, now, step
        self._leave_out = leave_out
        with ThreadPoolExecutor(1) as beside:
            # The source remembers its digest, which takes as long as the plan.
            beside.submit(order.source.digest)
            self.chosen = plan(order, now, step)
        for name, refusal in self.chosen.refused.items():
            self.leave_out(name, refusal)
        if not order.accept_fall:
            fall = held_back(order, self.chosen) or _set_back(ledger, self.chosen.as_of, now)
            if fall:
                raise HeldBackError(f"{fall}.")
        self.last = PreviousNight.of(ledger, self.chosen.as_of, sample=order.name == SAMPLE)
        self.inputs = inputs_of(order, self.chosen, self.last.version if self.last else None)
        labels = (order.source_label, order.disclaimer)
        version = derive_version(self.chosen.as_of, *labels, self.inputs)
        ledger.check_kept(version)
        if order.only_new:
            _check_new(nights, version)

    def leave_out(self, name: str, refusal: RefusedInput) -> None:
        """Tell whoever listens that a symbol or a file is left out."""
        if self._leave_out is not None:
            self._leave_out(name, refusal.code, refusal.reason)

    def writer(self) -> BookWriter:
        """The writer of the night's book."""
        return BookWriter(
            self.nights,
            session=self.chosen.as_of,
            source=self.order.source_label,
            disclaimer=self.order.disclaimer,
            inputs=self.inputs,
            upcoming=self.chosen.upcoming,
            accept_fall=self.order.accept_fall,
        )

    def check_usable(self, analyses: Sequence[Analysis]) -> None:
        """Check that something is served.

        Raises:
            NightlyError: every symbol was refused.
        """
        if any(analysis.covered for analysis in analyses):
            return
        own = {analysis.symbol: analysis.refusal for analysis in analyses if analysis.refusal}
        refused: Mapping[str, RefusedInput] = {**own, **self.chosen.refused}
        said = " ".join(refusal.of(name) for name, refusal in islice(refused.items(), MAX_EXAMPLES))
        more = f" And {len(refused) - MAX_EXAMPLES:,} more." if len(refused) > MAX_EXAMPLES else ""
        raise NightlyError(
            f"None of {len(analyses):,} symbols can be used. {said}{more} Check the bars and "
            "--session; `screener bars check PATH` names them all."
        )

    def write(
        self, writer: BookWriter, analyses: Sequence[Analysis], returns: Returns
    ) -> tuple[Report, NightEntry]:
        """Write everything that needs all symbols: the report, and what the ledger keeps."""
        order, last, as_of = self.order, self.last, self.chosen.as_of
        _write_unread(writer, order, analyses)
        detector = order.parameters.detector
        follow_up = FollowUp.of(analyses, as_of, last, detector)
        statistics = Statistics(analyses, returns, as_of, detector, follow_up.as_served())
        ranked = _write_patterns(writer, analyses, statistics)
        _write_scan(writer, ranked)
        _write_statistics(writer, analyses, statistics)
        writer.add_examples()
        writer.add_changes(
            (last.session, last.version) if last else None,
            follow_up.changes,
            detector_changed=follow_up.detector_changed,
        )
        report = Report.of(analyses, statistics, ranked, order.adjustment, self.chosen, follow_up)
        if abroad := {a.symbol: a.currency for a in analyses if a.currency != DOLLARS}:
            writer.add_meta("currencies", abroad)
        ended = {a.symbol: a.last_bar for a in analyses if not a.covered and a.last_bar is not None}
        writer.add_meta("last_bars", {symbol: to_date(day) for symbol, day in ended.items()})
        read = {**order.told, "renamed": renamed(self.chosen)}
        writer.add_meta("report", {**report.as_dict(), "source": read})
        return report, follow_up.entry(detector=detector, method=METHOD, now=self.now)


class SymbolsRun:
    """The analyses of a night, stored as they arrive."""

    def __init__(
        self,
        run: NightRun,
        writer: BookWriter,
        checkpoints: Checkpoints | None,
        keep: Keep | None,
    ) -> None:
        self.analyses: list[Analysis] = []
        """Without their large parts, which are stored."""
        self.returns = Returns.total([])
        """The sum of the returns of covered stocks."""
        self._run, self._writer, self._keep = run, writer, keep
        self._checkpoints = checkpoints
        active = run.nights.active()
        self._book = run.nights.folder / active.book.file if active else None
        self._goes_on = bool(
            checkpoints
            and active
            and active.inputs.code_version == run.inputs.code_version
            and not run.order.full
        )
        """Whether most results of the active night can be gone on from."""
        self._charted = 0
        self._under_way: deque[Mapping[str, tuple[bytes, str, bytes]]] = deque()
        """For each task, by symbol: its memo, and the outcomes and history rows that it names."""

    def analyse(self) -> None:
        """Analyse and store every symbol."""
        chosen, step = self._run.chosen, self._run.step
        total = len(chosen.symbols)
        step(*((FINDING, 0, total) if is_compiled() else (COMPILING, 0, 0)))
        with pool_of(chosen, later=self._goes_on) as pool:
            for batch in pool.run(analyse, map(self._prepared, chosen.tasks)):
                self.returns = Returns.total([self.returns, batch.returns])
                stored = self._under_way.popleft()
                for analysis in batch.analyses:
                    self._store(analysis, stored)
                step(FINDING, len(self.analyses), total)

    def _prepared(self, task: Task) -> Task:
        """A task with what is kept of its symbols, and what the last night served of them. They are
        read only now because all would not fit.
        """
        symbols = [listing.symbol for _, listing in task.symbols]
        last = self._run.last
        stored, kept = self._read(symbols)
        self._under_way.append(stored)
        earlier = last.of_symbols(symbols) if last else None
        return replace(task, kept=kept, check=self._run.order.full, earlier=earlier)

    def _read(
        self, symbols: Sequence[str]
    ) -> tuple[dict[str, tuple[bytes, str, bytes]], dict[str, Kept]]:
        if self._checkpoints is None or self._book is None:
            return {}, {}
        memos = self._checkpoints.read(symbols)
        histories = stored_histories(self._book, memos)
        stored = {name: (memos[name], *history) for name, history in histories.items()}
        kept = {name: kept_of(*parts) for name, parts in stored.items()}
        return stored, {name: one for name, one in kept.items() if one is not None}

    def _store(self, analysis: Analysis, stored: Mapping[str, tuple[bytes, str, bytes]]) -> None:
        """Store an analysis, and go on without its large parts."""
        symbol, writer, refusal = analysis.symbol, self._writer, analysis.refusal
        if refusal is not None:
            self._run.leave_out(symbol, refusal)
        writer.add_symbol(
            symbol, covered=analysis.covered, reason=refusal.code if refusal else None
        )
        memo = analysis.kept
        if analysis.reused:
            memo, outcomes, rows = stored[symbol]
            writer.add_history(symbol, outcomes, [rows], new=())
        elif analysis.history is not None:
            history = analysis.history
            all_new = len(history.new) == len(history.bodies)
            new = None if all_new else history.new
            writer.add_history(symbol, history.outcomes, history.bodies, new)
        if analysis.prices is not None and self._has_room(analysis):
            writer.add_prices(symbol, analysis.prices)
            self._charted += 1
        if memo is not None and self._keep is not None:
            self._keep(symbol, memo)
        self.analyses.append(
            replace(
                analysis,
                history=None,
                prices=None,
                kept=None,
                # An array that was joined, or came from a worker, describes its columns anew: 1 KB.
                facts=analysis.facts.astype(FACTS),
                features=analysis.features if analysis.formations else None,
            )
        )

    def _has_room(self, analysis: Analysis) -> bool:
        """Whether the charts of a symbol are stored: a limit is for those of setups, which clients
        are served.
        """
        most = self._run.order.chart_symbols
        return most is None or (bool(analysis.formations) and self._charted < most)


def _write_unread(writer: BookWriter, order: Order, analyses: Sequence[Analysis]) -> None:
    """Add the symbols that are in the reference but not in the source."""
    read = {analysis.symbol for analysis in analyses}
    for symbol in sorted(order.reference.listings.keys() - read):
        writer.add_symbol(symbol, covered=False, reason="no_bars")


def _write_statistics(
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


def _write_patterns(
    writer: BookWriter, analyses: Sequence[Analysis], statistics: Statistics
) -> list[RankedSetup]:
    """Add the setups of every symbol, and return them."""
    everyone = []
    for analysis in analyses:
        ranked = statistics.ranked(analysis)
        setups = [each.setup for each in ranked]
        if analysis.bars or not analysis.covered:
            writer.add_patterns(
                Patterns(
                    symbol=analysis.symbol,
                    available=analysis.covered,
                    reason=None if analysis.covered else "not_covered",
                    setups=setups,
                )
            )
        if analysis.nearest is not None:
            writer.add_nearest(analysis.symbol, analysis.nearest)
        for each, setup in zip(ranked, setups, strict=True):
            writer.add_setup(setup, each.formation.evidence)
        everyone += ranked
    return everyone


def _write_scan(writer: BookWriter, ranked: Sequence[RankedSetup]) -> None:
    """Add the setups in the order of the scan, with what it filters by."""
    in_order = sorted(ranked, key=lambda each: each.order)
    writer.add_scan(each.row(rank) for rank, each in enumerate(in_order, 1))
    for name, values in number_columns(in_order).items():
        writer.add_numbers(name, values)
    for name, labels in label_columns(in_order).items():
        writer.add_labels(name, labels)


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
