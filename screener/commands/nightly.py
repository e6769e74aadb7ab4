"""Running the nightly: from what the operator asked for to an order, with progress to watch."""

from __future__ import annotations

import datetime as dt
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from screener.commands.bars_options import THE_SAMPLE, BarsOptions
from screener.nightly.cleaning.sessions import settled_at
from screener.nightly.detector.parameters import DEFAULTS, Parameters
from screener.nightly.errors import SourceError
from screener.nightly.night import LeaveOut, make_night
from screener.nightly.plan import Order, held_back, plan
from screener.nightly.pool import default_jobs
from screener.nightly.reading.bucket import fetch_bars, is_bucket
from screener.nightly.reading.files import file_digest
from screener.nightly.reading.opening import Opened, open_source, open_symbol
from screener.nightly.reading.sorting import SortedSource
from screener.nightly.reading.source import BarSource, Step, silent
from screener.nightly.reference.reference import Reference, read_reference
from screener.nightly.report import Report
from screener.nightly.sample import SAMPLE_SESSION, sample_reference, sample_source
from screener.nightly.workers.scratch import Scratch, scratch_in
from screener.service.sharing import looking, nights_of
from screener.settings.console import Watch, err, watched
from screener.settings.settings import Settings
from store.folder.checkpoints import Checkpoints
from store.ledger.manifest import SAMPLE, Manifest
from store.nights.nights import Nights
from store.nights.publish import fall_behind
from store.wire.exchanges import NEW_YORK, exchange_named

LOOK_SECONDS = 60.0
"""How often a wait looks at the clock."""


def order_of(
    settings: Settings,
    options: BarsOptions = THE_SAMPLE,
    *,
    work: Work | None = None,
    step: Step = silent,
    unusable: bool = False,
    only: str | None = None,
) -> Order:
    """The order that the command line describes.

    Bars that do not lie by symbol are sorted into the folder of `work`, and shared if it has a
    scratch; only the sample needs none. Bars of which nothing can be used are an error, unless they
    may be `unusable`. With `only` a symbol, no other's are read if names tell where its are.

    Raises:
        SourceError: the bars or the reference table cannot be read.
        ObjectsError: a store does not answer.
    """
    bars, reference, session = options.bars, options.reference, options.session
    if bars == SAMPLE:
        if options.symbol is not None:
            raise SourceError("The sample has symbols of its own; leave --symbol out.")
        opened, known = Opened(sample_source()), sample_reference()
        name, session = SAMPLE, session or SAMPLE_SESSION
    elif work is None:
        raise ValueError("Only the sample can be read without a folder to work in.")
    else:
        path = work.fetched(bars, step)
        with _named(path, bars):
            opened = _opened(path, work, step, options.symbol, unusable=unusable, only=only)
        known, name = Reference(), path.resolve().name
    return Order(
        source=opened.source,
        name=name,
        told=opened.told,
        skipped=opened.skipped,
        rows=opened.rows,
        reference=read_reference(reference) if reference else known,
        reference_sha256=file_digest(reference) if reference else None,
        exchange=exchange_named(options.exchange or ""),
        currency=options.currency,
        adjustment=options.adjustment,
        parameters=_parameters(settings, options),
        session=session,
        quorum=settings.session_quorum,
        behind_limit=settings.behind_limit,
        running_sessions=settings.running_sessions,
        jobs=options.jobs or default_jobs(),
        executor=options.executor,
        source_label=settings.source,
        disclaimer=settings.disclaimer,
        chart_symbols=settings.chart_symbols,
    )


def _parameters(settings: Settings, options: BarsOptions) -> Parameters:
    """The detector's, with the minimum quality that was asked for."""
    asked = settings.min_quality if options.min_quality is None else options.min_quality
    return DEFAULTS if asked is None else DEFAULTS._replace(quality_min=asked)


def _opened(
    path: Path,
    work: Work,
    step: Step,
    symbol: str | None,
    *,
    unusable: bool,
    only: str | None,
) -> Opened:
    if only is not None and (alone := open_symbol(path, work.folder, only, symbol)):
        return Opened(alone)
    always = work.scratch is not None
    opened = open_source(path, work.folder, step, symbol, always=always, unusable=unusable)
    return replace(opened, source=work.shared(opened.source, step))


@contextmanager
def _named(path: Path, bars: str) -> Iterator[None]:
    """Name bars in errors as the operator did, and not the copy of them."""
    try:
        yield
    except SourceError as error:
        error.args = (str(error).replace(str(path), bars),)
        raise


@dataclass(frozen=True, slots=True)
class Work:
    """Where a run works: a folder of this machine, and one that the workers of a cluster see."""

    folder: Path
    scratch: Scratch | None = None

    def fetched(self, bars: str, step: Step) -> Path:
        """The path of bars on this machine, after copying them from an object store.

        Raises:
            SourceError, ObjectsError: they cannot be had.
        """
        return fetch_bars(bars, self.folder / "fetched", step) if is_bucket(bars) else Path(bars)

    def shared(self, source: BarSource, step: Step) -> BarSource:
        """The source, after its sorted bars were moved to where workers read them, if there is such
        a place.

        Raises:
            ObjectsError: the store cannot be written.
        """
        if self.scratch is None or not isinstance(source, SortedSource):
            return source
        there = self.scratch.share(source, self.folder / "bars", step)
        for copy in ("bars", "fetched"):
            shutil.rmtree(self.folder / copy, ignore_errors=True)
        return there


def make_and_publish(
    settings: Settings, order: Order, step: Step = silent, leave_out: LeaveOut | None = None
) -> tuple[Manifest, Report]:
    """Make the night of an order and publish it in the configured data folder, whose lock is held.

    Raises:
        NightlyError, StoreError: nothing was published.
    """
    nights = nights_of(settings)
    now = dt.datetime.now(dt.UTC)
    nights.sweep()
    checkpoints = Checkpoints(settings.data_dir)
    made = make_night(
        order, nights, now=now, step=step, checkpoints=checkpoints, leave_out=leave_out
    )
    if checkpoints.damage:
        err.print(
            f"{checkpoints.path} was damaged ({checkpoints.damage}); every symbol was "
            "walked from its first bar."
        )
    return made


def try_out(
    settings: Settings, order: Order, step: Step = silent
) -> tuple[Manifest, Report, str | None]:
    """Make the night of an order without publishing it; says what would hold it back, if anything
    would.
    """
    now = dt.datetime.now(dt.UTC)
    late = held_back(order, plan(order, now))
    with tempfile.TemporaryDirectory(prefix="pattern-screener-") as folder:
        nights, order = looking(settings), replace(order, accept_fall=True)
        manifest, report = make_night(
            order, Nights(Path(folder)), now=now, step=step, compared=nights.ledger
        )
    active = nights.check_active() if nights.pointer.exists() else None
    return manifest, report, late or (fall_behind(active, manifest) if active else None)


def wait_for_session(settle: dt.timedelta, exchange: str | None = None) -> None:
    """Wait until the newest session of an exchange (its MIC), or of New York, that has begun is
    over and has settled; says until when.
    """
    known = exchange_named(exchange or "")
    until = settled_at(dt.datetime.now(dt.UTC), settle, known.calendar if known else NEW_YORK)
    if until > dt.datetime.now(dt.UTC):
        err.print(f"Waiting until {until:%Y-%m-%d %H:%M} UTC; Ctrl-C ends it.")
    while (left := (until - dt.datetime.now(dt.UTC)).total_seconds()) > 0:
        # In pieces, because a machine that sleeps does not count its sleep.
        time.sleep(min(left, LOOK_SECONDS))


@contextmanager
def working(settings: Settings, executor: str | None = None) -> Iterator[tuple[Work, Watch]]:
    """Where to work: a folder in the data folder, and with an executor the scratch that its workers
    read; and progress to watch.

    Raises:
        ObjectsError: the store of the scratch does not answer.
    """
    url = settings.scratch_url or settings.nights_url
    setting = "SCREENER_SCRATCH_URL" if settings.scratch_url else "SCREENER_NIGHTS_URL"
    with ExitStack() as ending:
        folder = ending.enter_context(Nights(settings.data_dir).workspace())
        scratch = None
        if executor is not None and url is not None:
            now = dt.datetime.now(dt.UTC)
            scratch = ending.enter_context(scratch_in(url.get_secret_value(), now, setting))
        yield Work(folder, scratch), ending.enter_context(watched())
