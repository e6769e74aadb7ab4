"""Charts: each is drawn once per night, in a worker process, and kept beside the book.

Drawing takes about 10 ms of CPU, so it never runs on the event loop. Calls for one chart that
arrive together share one drawing, and the queue of drawings is bounded.
"""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, TypeVarTuple

import anyio
import anyio.to_process
import anyio.to_thread
from anyio import BrokenWorkerProcess, CapacityLimiter

from mcp_server.calls.errors import ApiError, busy
from mcp_server.charts.past import Past, bare_view, past_view, shown, trend_lines
from mcp_server.drawing import draw, prepare
from mcp_server.drawing.view import USUAL, ChartStyle, ChartView, PastRecord, Point
from mcp_server.filters.symbol_search import SymbolSearch
from screener.telemetry.metrics import charts_cache, drawing_seconds, drawings_waiting, limits_hit
from store.errors import StoreError
from store.folder.files import private_folder, replace_file
from store.nights.book import Book, PerBook, Prices, StoredSetup
from store.wire.view import SetupView

QUEUE_LIMIT = 32
"""Most drawings under way or waiting; a call for one more is refused with `unavailable`."""

WARM_AFTER = 2.0
"""Seconds after its start in which a service has the processor for its first answers."""

log = logging.getLogger(__name__)

Subject: TypeAlias = StoredSetup | Past
"""What a chart is of."""

Made = TypeVar("Made")
Arguments = TypeVarTuple("Arguments")


class Charts:
    """The chart of every current setup, symbol and past trade, drawn on first demand."""

    def __init__(self, folder: Path, directories: PerBook[SymbolSearch] | None = None) -> None:
        """Keep the charts in a folder; the `directories` of nights name their companies."""
        self._folder = folder
        self._directories = directories or PerBook(SymbolSearch.of)
        self._worker = CapacityLimiter(1)
        self._drawing: dict[Path, anyio.Event] = {}
        self.is_broken = False
        """Whether the process that draws could not be used last time."""

    async def warm(self, after: float = 0.0) -> None:
        """Start a worker process after some seconds, and let it load what drawing needs.

        The first chart is then as fast as the next, and this process needs no image library.
        """
        await anyio.sleep(after)
        try:
            await self._apart(prepare)
        except (OSError, BrokenWorkerProcess) as error:
            log.warning("No process for charts yet; the first chart will start one: %s", error)

    async def png(self, book: Book, subject: Subject, look: ChartStyle = USUAL) -> bytes:
        """The PNG of a current setup of a book, or of what became of earlier ones.

        Raises:
            ApiError: `chart_unavailable` without stored prices, `unavailable` when too many wait.
        """
        path = self._path(book, subject, look)
        png = await self.cached(book, subject, look)
        charts_cache.hits += png is not None
        charts_cache.misses += png is None
        while png is None:
            under_way = self._drawing.get(path)
            if under_way is None:
                return await self._draw(path, book, subject, look)
            await under_way.wait()
            png = await self.cached(book, subject, look)
        return png

    async def cached(self, book: Book, subject: Subject, look: ChartStyle = USUAL) -> bytes | None:
        """The PNG of the same, if it was drawn before."""
        return await anyio.to_thread.run_sync(_read, self._path(book, subject, look))

    async def _draw(self, path: Path, book: Book, subject: Subject, look: ChartStyle) -> bytes:
        symbol = subject.symbol if isinstance(subject, Past) else subject.view.symbol
        prices = book.kept_prices(symbol)
        if prices is None or (isinstance(subject, Past) and not subject.is_among(prices)):
            raise ApiError("chart_unavailable")
        if len(self._drawing) >= QUEUE_LIMIT:
            limits_hit.labels("drawings").inc()
            raise busy()
        done = self._drawing[path] = anyio.Event()
        try:
            with drawings_waiting.track_inprogress(), drawing_seconds.time():
                name = self._directories.of(book).name(symbol) or ""
                view = chart_view(book, subject, prices, name)
                png = await self._apart(draw, view, look)
            await anyio.to_thread.run_sync(_store, path, png)
        finally:
            del self._drawing[path]
            done.set()
        return png

    async def _apart(self, work: Callable[[*Arguments], Made], *arguments: *Arguments) -> Made:
        """Do something in the worker process."""
        try:
            made = await anyio.to_process.run_sync(work, *arguments, limiter=self._worker)
        except (OSError, BrokenWorkerProcess):
            self.is_broken = True
            raise
        self.is_broken = False
        return made

    def _path(self, book: Book, subject: Subject, look: ChartStyle) -> Path:
        suffix = "" if look == USUAL else f"-{look.theme}-{look.width}"
        name = subject.name if isinstance(subject, Past) else subject.view.setup_id
        return self._folder / str(book.data_version) / f"{name}{suffix}.png"


def _read(path: Path) -> bytes | None:
    """The chart in a file, which was written whole; None if there is none."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _store(path: Path, png: bytes) -> None:
    try:
        private_folder(path.parent)
        replace_file(path, png)
    except (OSError, StoreError) as error:
        log.warning("A chart could not be kept and will be drawn again: %s", error)


def chart_view(book: Book, subject: Subject, prices: Prices, name: str = "") -> ChartView:
    """What a chart shows; the name is that of the company."""
    if isinstance(subject, Past):
        return past_view(book, subject, prices, name)
    view, plan = subject.view, subject.view.plan
    return replace(
        bare_view(book, view.symbol, shown(prices, drawn_from(subject)), name),
        pattern=view.pattern,
        direction=view.direction,
        status=view.status,
        as_of=dt.date.fromisoformat(view.as_of),
        lines=trend_lines(subject.fields["lines"]),
        trigger=plan.trigger,
        stop=plan.stop,
        target=plan.target,
        other=next(iter(view.plans[1:]), None),
        entry=entry_of(view),
        next_session=trigger_session(book, subject),
        pole=pole_of(subject.evidence),
        attempt=view.attempt or 1,
        attempts=view.attempts,
        quality=view.quality_pct,
        record=_record(subject),
    )


def _record(setup: StoredSetup) -> PastRecord | None:
    """The record that everybody shows of the setup."""
    view, record = setup.view, setup.view.record
    if record is None:
        return None
    whole = setup.fields["track_record"][record.scope]
    start, end = (dt.date.fromisoformat(day) for day in whole["backtest_range"])
    label = f"{view.direction} {view.family_label}" if record.sided else view.family_label
    return PastRecord(
        name=f"{view.symbol} {label.lower()}" if record.scope == "ticker" else label.capitalize(),
        start=start,
        end=end,
        figures=record,
    )


def drawn_from(setup: StoredSetup) -> dt.date:
    """The session on which the pattern of a setup begins, or the pole before that."""
    start, pole = dt.date.fromisoformat(setup.view.pattern_start), pole_of(setup.evidence)
    return start if pole is None else pole[0][0]


def entry_of(view: SetupView) -> Point | None:
    """Where a running trade was entered; None while the setup is forming."""
    if view.entry_date is None or view.plan.entry is None:
        return None
    return dt.date.fromisoformat(view.entry_date), view.plan.entry


def trigger_session(book: Book, setup: StoredSetup) -> dt.date | None:
    """The session that a forming setup's trigger is for, by the calendar of its symbol; that of the
    night in books which do not say it.
    """
    stated = setup.evidence.get("trigger_session")
    return dt.date.fromisoformat(stated) if stated else book.next_session


def pole_of(evidence: Mapping[str, Any]) -> tuple[Point, Point] | None:
    """The pole of a pennant, from its base to its tip; None without one, or where the night kept
    none.
    """
    if "pole_start_date" not in evidence:
        return None
    start, tip = (dt.date.fromisoformat(evidence[f"pole_{end}_date"]) for end in ("start", "tip"))
    return (start, evidence["pole_start_price"]), (tip, evidence["pole_tip_price"])
