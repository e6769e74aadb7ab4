"""Analysis: everything that a night finds out about one symbol from its bars.

This is the unit of parallel work. A worker process loads, cleans, walks and measures its symbols
and returns values. Work that needs all symbols is done afterwards, in
`screener.nightly.statistics.assembly`.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

import numpy as np

from screener.nightly.bars import Adjustment, to_day
from screener.nightly.cleaning.cleaning import Cleaned, clean
from screener.nightly.cleaning.gates import GAP_DAYS, MIN_BARS, gap_days, late
from screener.nightly.cleaning.sessions import SessionWindow
from screener.nightly.detector.events import Rows
from screener.nightly.detector.parameters import Parameters
from screener.nightly.errors import NightlyError, RefusedInput
from screener.nightly.memo import (
    Kept,
    MemoHead,
    SymbolMemo,
    WalkMemo,
    digest_of,
    first_attempts_of,
    history_digest,
    resume,
)
from screener.nightly.reading.source import BarSource, Loaded
from screener.nightly.reference.reference import Listing
from screener.nightly.results.chart_bars import chart_bars
from screener.nightly.results.features import features
from screener.nightly.results.history import (
    KEPT,
    FirstAttempts,
    Lineages,
    ListingStatus,
    closed_at_end,
    merged,
)
from screener.nightly.results.nearest import nearest_drawing
from screener.nightly.results.returns import Returns
from screener.nightly.results.setups import RUNNING_SESSIONS, CurrentSetups, Formation
from screener.nightly.results.symbol_results import Analysis
from screener.nightly.results.transitions import Current, Previous, SymbolFollowUp, follow_up
from screener.nightly.series import Series
from screener.nightly.symbols import COINS, quote_of
from screener.nightly.version import code_version
from store.wire.currency import DOLLARS
from store.wire.exchanges import NEW_YORK, UTC_DAYS, customary_currency
from store.wire.records import NearestDrawing

LATE: Final = ("behind", "stale")
"""The refusals that depend on the session; the others follow from the bars."""


@dataclass(frozen=True, slots=True)
class Task:
    """Some symbols to analyse, each given by its raw name in the source and its listing."""

    source: BarSource
    symbols: Sequence[tuple[str, Listing]]
    as_of: dt.date
    windows: Mapping[str, SessionWindow]
    """By calendar: the last usable day, the session after it, and the last day that has begun."""
    adjustment: Adjustment
    parameters: Parameters
    code_version: str
    currency: str | None = None
    """That of the prices of which nothing else tells it."""
    running_sessions: int = RUNNING_SESSIONS
    """A trade that has run for more sessions is no longer served as a setup."""
    kept: Mapping[str, Kept] = field(default_factory=dict)
    """What the last night kept, by symbol."""
    check: bool = False
    """Whether to walk and measure all bars, and compare the results with what was kept."""
    earlier: Mapping[str, Previous] | None = None
    """What the last night served, by symbol; None if there was no night before."""

    def check_version(self) -> None:
        """Check that the worker runs the same version of the program as the night.

        Raises:
            NightlyError: the worker runs another version.
        """
        if self.code_version != code_version():
            raise NightlyError(
                f"A worker runs version {code_version()} of the program, but this is version "
                f"{self.code_version}; install the same version on every machine."
            )

    def loaded(self) -> Iterator[tuple[Listing, Loaded]]:
        """Each symbol with its raw bars, in the order of the task."""
        listings = dict(self.symbols)
        for item in self.source.load([name for name, _ in self.symbols]):
            yield listings[item.name], item

    def clean(self, loaded: Loaded, listing: Listing) -> Cleaned:
        """The loaded bars of a symbol up to the session, cleaned, with the findings of both; it has
        a series or a refusal.
        """
        if refusal := loaded.refusal:
            return Cleaned((), loaded.findings, refusal)
        cleaned = clean(
            loaded.bars,
            asset_type=listing.asset_type,
            window=self.windows[listing.calendar],
            adjustment=listing.adjustment or loaded.adjustment or self.adjustment,
            splits=listing.splits,
        )
        return replace(cleaned, findings={**loaded.findings, **cleaned.findings})

    def walk(self, series: Series, listing: Listing, memo: WalkMemo | None = None) -> WalkMemo:
        """Walk a series with the detector, from the end of an earlier walk if that is valid."""
        gap = gap_days(listing.calendar)
        return resume(memo, series, self.parameters, gap_days=gap, check=self.check)

    def nearest(self, walked: Walked, listing: Listing) -> NearestDrawing:
        """What came furthest at the last bar of a series."""
        gap, walk = gap_days(listing.calendar), walked.end.walk
        return nearest_drawing(walk, walked.series, self.parameters, gap_days=gap)


def currency_of(loaded: Loaded, listing: Listing, ordered: str | None) -> tuple[str, bool]:
    """The currency of a symbol's prices, and whether something says it: the reference, the file or
    the name, or else the order. Otherwise it is that of its exchange. A coin that stands for a
    dollar counts as one.
    """
    # Tickers of other exchanges are words, such as HYUNDAI, which is no pair with the coin DAI.
    named = None if listing.calendar not in (NEW_YORK, UTC_DAYS) else quote_of(loaded.name)
    quote = listing.quote_currency or loaded.currency or named or ordered
    code = quote or customary_currency(listing.calendar)
    return DOLLARS if code in COINS else code, quote is not None


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """The results for the symbols of a task, and the sum of their returns."""

    analyses: Sequence[Analysis]
    returns: Returns


def cleaned_symbols(task: Task) -> Iterator[tuple[Listing, Loaded, Cleaned]]:
    """Load and clean the symbols of a task, in their order; runs in a worker process.

    Raises:
        NightlyError: the worker runs another version of the program.
    """
    task.check_version()
    for listing, loaded in task.loaded():
        yield listing, loaded, task.clean(loaded, listing)


def analyse(task: Task) -> Batch:
    """Analyse the symbols of a task, in their order; runs in a worker process."""
    task.check_version()
    found = [analyse_symbol(loaded, listing, task) for listing, loaded in task.loaded()]
    returns = Returns.total(a.returns for a in found if a.returns is not None)
    return Batch([replace(analysis, returns=None) for analysis in found], returns)


def analyse_symbol(loaded: Loaded, listing: Listing, task: Task) -> Analysis:
    """Clean, walk and measure one symbol, or take what the last night found."""
    return SymbolRun(listing, loaded, task).analysis()


@dataclass(frozen=True, eq=False)
class SymbolRun:
    """The analysis of one symbol in the making."""

    listing: Listing
    loaded: Loaded
    task: Task

    @property
    def window(self) -> SessionWindow:
        """The days of the symbol's calendar."""
        return self.task.windows[self.listing.calendar]

    @cached_property
    def currency(self) -> tuple[str, bool]:
        """The currency of its prices, and whether something says it."""
        return currency_of(self.loaded, self.listing, self.task.currency)

    @cached_property
    def memo(self) -> SymbolMemo | None:
        """What the last night kept, if it can be read."""
        kept = self.task.kept.get(self.listing.symbol)
        return SymbolMemo.decoded(kept.memo) if kept else None

    @cached_property
    def inputs(self) -> str:
        """The digest of everything that the results depend on, but for the session's place among
        the symbol's last bars, of which `_still` decides.
        """
        raw, window, listing, task = self.loaded.bars, self.window, self.listing, self.task
        bars, begun = raw.until(to_day(window.last)), to_day(window.begun)
        last = int(bars.date[-1]) if len(bars) else begun
        loaded = (self.loaded.name, *self.loaded.findings.items())
        told = (self.loaded.adjustment, self.loaded.currency)
        listed = (listing.symbol, listing.asset_type, listing.adjustment, listing.quote_currency)
        ahead = bool(len(raw) and raw.date[-1] > begun)
        closed = window.closed[: np.searchsorted(window.closed, last, "right")]
        values = (
            *(tuple(task.parameters), task.adjustment),
            *(loaded, told, listed, listing.splits, ahead),
        )
        return digest_of(values, [closed, *bars.columns()]).hex()

    def analysis(self) -> Analysis:
        """The results of the last night if they still hold, else those of cleaning, walking and
        measuring the bars.
        """
        if self.loaded.refusal is None and not self.task.check and (same := self._still()):
            return same
        cleaned = self.task.clean(self.loaded, self.listing)
        if cleaned.series:
            return self._measured(cleaned)
        follow_up = self._follow_up(Current())
        return Analysis(
            self.listing,
            cleaned.refusal,
            cleaned.findings,
            currency=self.currency[0],
            follow_up=follow_up,
        )

    def _follow_up(self, current: Current) -> SymbolFollowUp | None:
        """What became of the symbol's setups since the last night, if there was one."""
        earlier = self.task.earlier
        return follow_up(earlier[self.listing.symbol], current) if earlier is not None else None

    def _still(self) -> Analysis | None:
        """The results of the last night, if everything that they depend on is the same, and nothing
        is or was served.
        """
        memo, earlier = self.memo, self.task.earlier and self.task.earlier[self.listing.symbol]
        if memo is None or (earlier and (earlier.setups or earlier.followed)):
            return None
        known = memo.head
        own = RefusedInput(known.refusal[0], known.refusal[1]) if known.refusal else None
        refusal = own if own and own.code not in LATE else late(known.last_day, self.window)
        fate = _fate(known.last_day, known.last_bar, self.listing, self.window)
        if refusal is None or fate != known.fate or known.inputs != self.inputs:
            return None
        return Analysis(
            self.listing,
            refusal,
            known.findings,
            bars=known.bars,
            facts=memo.facts,
            last_bar=known.last_bar,
            scored_from=known.scored_from,
            began="resumed",
            reused=True,
            fate=fate,
            currency=self.currency[0],
            currency_known=self.currency[1],
            adjustment=self.listing.adjustment or self.loaded.adjustment,
            follow_up=self._follow_up(Current(delisted=fate is ListingStatus.DELISTED)),
        )

    def _measured(self, cleaned: Cleaned) -> Analysis:
        listing, task = self.listing, self.task
        fate = fate_of(cleaned, listing, self.window)
        *older, last = cleaned.series
        found = [Walked.of(series, listing, task, fate, newest=False) for series in older]
        newest = Walked.of(last, listing, task, fate, newest=True, memo=self.memo)
        found.append(newest)
        served, delisted = cleaned.covered, fate is ListingStatus.DELISTED
        formations = newest.formations(self.window, task, self.currency[0]) if served else ()
        current = Current(formations, [walked.lineages for walked in found], served, delisted)
        analysis = Analysis(
            listing,
            cleaned.refusal,
            cleaned.findings,
            bars=sum(len(walked.series) for walked in found),
            facts=np.concatenate([walked.attempts.facts for walked in found]),
            history=merged([walked.attempts.rows for walked in found]),
            formations=formations,
            nearest=task.nearest(newest, listing) if served and not formations else None,
            features=features(newest.series.active, crypto=listing.crypto) if served else None,
            prices=chart_bars(newest.series.bars) if served else None,
            last_bar=int(last.bars.date[-1]),
            scored_from=next(_scored_from(cleaned.series), None),
            began=newest.end.began,
            fate=fate,
            currency=self.currency[0],
            currency_known=self.currency[1],
            adjustment=listing.adjustment or self.loaded.adjustment,
            returns=Returns.of(cleaned.series)
            if served and listing.asset_type == "stock"
            else None,
            follow_up=self._follow_up(current),
        )
        memo = self._memo(analysis, newest, cleaned.last_day)
        drifted = task.check and self._differs(memo, newest)
        began = "drifted" if drifted else analysis.began
        return replace(analysis, kept=memo.encoded(), began=began)

    def _memo(self, analysis: Analysis, newest: Walked, last_day: int | None) -> SymbolMemo:
        """What to keep: the walk too, unless the bars have stopped."""
        refusal, rows = analysis.refusal, analysis.history
        assert rows is not None  # noqa: S101 - a symbol with bars has a history
        head = MemoHead(
            inputs=self.inputs,
            bars=analysis.bars,
            findings=analysis.findings,
            refusal=(refusal.code, refusal.reason) if refusal else None,
            last_day=last_day,
            last_bar=int(newest.series.bars.date[-1]),
            scored_from=analysis.scored_from,
            fate=analysis.fate,
        )
        current = analysis.fate is ListingStatus.CURRENT
        return SymbolMemo(
            head,
            history_digest(rows.outcomes, b"\n".join(rows.bodies)),
            analysis.facts,
            newest.attempts.kept if current else np.empty(0, KEPT),
            newest.end if current else None,
        )

    def _differs(self, tonight: SymbolMemo, newest: Walked) -> bool:
        """Whether the last night kept other results of the same bars, or of the first of them."""
        memo = self.memo
        if memo is None:
            return False
        earlier, later = memo.head, tonight.head
        if (earlier.inputs, earlier.fate) == (later.inputs, later.fate):
            same = memo.facts.tobytes() == tonight.facts.tobytes()
            return not same or memo.history != tonight.history
        if not newest.end.same or tonight.newest is None:
            return False
        number, final = len(memo.attempts), memo.attempts["final"]
        before: Rows = memo.facts[len(memo.facts) - number :][final]
        now: Rows = newest.attempts.facts[:number][final]
        return before.tobytes() != now.tobytes()


@dataclass(frozen=True, slots=True, eq=False)
class Walked:
    """One series after its walk: its log, lineages, trades and history rows."""

    series: Series
    end: WalkMemo
    lineages: Lineages
    """Those of the walk, after closing the open trades of a delisted symbol."""
    attempts: FirstAttempts

    @classmethod
    def of(
        cls,
        series: Series,
        listing: Listing,
        task: Task,
        fate: ListingStatus,
        *,
        newest: bool,
        memo: SymbolMemo | None = None,
    ) -> Walked:
        """Walk a series and measure its trades. Only the newest one of a symbol goes on from its
        memo, and if the symbol was delisted, its open trades closed at its last bar.
        """
        end = task.walk(series, listing, memo.newest if memo else None)
        ended = newest and fate is ListingStatus.DELISTED
        log = closed_at_end(series.bars, end.walk.log) if ended else end.walk.log
        lineages = Lineages(listing.symbol, series.bars, log)
        last = None
        if memo and end.same and not (ended or task.check):
            last = first_attempts_of(memo, task.kept[listing.symbol])
        attempts = FirstAttempts.of(series, lineages, fate, task.parameters, ended=ended, last=last)
        return cls(series, end, lineages, attempts)

    def formations(self, window: SessionWindow, task: Task, currency: str) -> Sequence[Formation]:
        """The setups that are served of the series on the night."""
        current = CurrentSetups(
            self.lineages,
            window.last,
            window.following,
            task.parameters,
            task.running_sessions,
            currency,
        )
        return current.formations()


def fate_of(cleaned: Cleaned, listing: Listing, window: SessionWindow) -> ListingStatus:
    """What became of a symbol: whether its bars stop before the session, and why."""
    return _fate(cleaned.last_day, int(cleaned.series[-1].bars.date[-1]), listing, window)


def _fate(
    last_day: int | None, last_bar: int, listing: Listing, window: SessionWindow
) -> ListingStatus:
    """The fate of a listing. `last_day` is the day of the last usable bar; `last_bar` is the last
    day of a series, which is earlier if the bars at the end cannot be trusted.
    """
    if last_day is not None and last_day >= to_day(window.active_since):
        return ListingStatus.CURRENT
    until = listing.listed_until
    if until is None or until >= window.last or last_bar != last_day:
        return ListingStatus.STOPPED
    near = abs(to_day(until) - last_bar) <= GAP_DAYS
    return ListingStatus.DELISTED if near else ListingStatus.STOPPED


def _scored_from(parts: Sequence[Series]) -> Iterator[int]:
    """In each series the day number of the first bar that a night could serve."""
    return (int(part.bars.date[MIN_BARS]) for part in parts if len(part) > MIN_BARS)
