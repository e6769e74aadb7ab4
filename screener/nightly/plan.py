"""The plan: an order of a night after its source was looked through, before a bar is analysed.

It chooses the day that the night is as of, and says which symbols are read, late or left out.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np

from screener.nightly.analysis import Task
from screener.nightly.bars import Adjustment, to_date, to_day
from screener.nightly.cleaning.inference import Inferred, inferred
from screener.nightly.cleaning.sessions import (
    QUORUM,
    SUNDAY_MARKETS,
    SessionWindow,
    as_of_session,
    last_begun,
    last_completed,
    last_session,
    upcoming,
    windows,
)
from screener.nightly.detector.parameters import DEFAULTS, Parameters
from screener.nightly.errors import RefusedInput, SourceError
from screener.nightly.pool import INLINE, INLINE_LATER, Pool, batches, local_pool
from screener.nightly.reading.source import BarSource, Outline, Step, silent
from screener.nightly.reference.reference import Listing, Reference, as_crypto, listed_at
from screener.nightly.results.setups import RUNNING_SESSIONS
from screener.nightly.symbols import placed, quote_of, resolve
from screener.nightly.version import code_version
from screener.nightly.workers.cluster import cluster_pool
from store.ledger.manifest import SAMPLE, Inputs
from store.wire.exchanges import UTC_DAYS, Exchange

MAX_RENAMED = 1000
FILLED = 0.8
MAX_NAMED = 8
"""Symbols that the reason of a night that is held back names."""


@dataclass(frozen=True, slots=True)
class Order:
    """The inputs and options of a night."""

    source: BarSource
    name: str
    """The source's name in the manifest: `sample`, or the file's or folder's own name."""
    told: Mapping[str, Any] = field(default_factory=dict)
    """How the source was read, for the report: its file forms and columns."""
    skipped: Mapping[str, RefusedInput] = field(default_factory=dict)
    """Files of the source that were left out and why, where that refuses no symbol of its own."""
    rows: Mapping[str, int] = field(default_factory=dict)
    """By form of the files: how many rows were read, whatever became of them."""
    reference: Reference = field(default_factory=Reference)
    reference_sha256: str | None = None
    exchange: Exchange | None = None
    """That of the symbols of which nothing else tells it."""
    currency: str | None = None
    """That of the prices of which nothing else tells it."""
    adjustment: Adjustment = "split"
    parameters: Parameters = DEFAULTS
    session: dt.date | None = None
    """The requested session; None for the newest one that enough symbols reach."""
    quorum: float = QUORUM
    """The share of the active symbols that must be current."""
    behind_limit: float = 1.0
    """A night is held back if a larger share of the active symbols is behind."""
    running_sessions: int = RUNNING_SESSIONS
    """A trade that has run for more sessions is no longer served as a setup."""
    jobs: int = 1
    executor: str | None = None
    """The address of a Dask scheduler; None to work on this machine."""
    source_label: str = "nightly"
    disclaimer: str = ""
    chart_symbols: int | None = None
    """Store chart prices only for this many symbols with setups, in symbol order; None for those of
    every covered symbol."""
    accept_fall: bool = False
    """Whether to publish even if much less is covered, or more is behind, than usual."""
    full: bool = False
    """Whether to walk every bar and compare the result with the last night's checkpoints."""
    only_new: bool = False
    """Whether to stop if the night is already sealed."""


@dataclass(frozen=True, slots=True)
class NightPlan:
    """An order after its source was looked through: which symbols to read, up to which session."""

    tasks: Sequence[Task]
    symbols: Sequence[str]
    as_of: dt.date
    unfinished: Mapping[str, dt.date]
    """By calendar: its last finished session, where that of `as_of` is not over yet."""
    upcoming: Sequence[dt.date]
    """The sessions after `as_of`, of the calendar that the active symbols follow."""
    refused: Mapping[str, RefusedInput]
    """Raw names that cannot be symbols, and files that were left out."""
    later: Sequence[str]
    """Symbols with sessions after the night's, which too few symbols reach."""
    behind: Sequence[str]
    """Active symbols without the last session of their calendar."""
    current: int
    """How many symbols have it."""
    wider: str
    """Which session covers more symbols, if newer bars of a few made the others stale."""
    overdue: str
    """That the night is older than the last session of its exchanges, if it is, and why."""
    inferred: Sequence[str]
    """Symbols that are taken for crypto because they trade on weekends."""
    markets: Mapping[str, Sequence[str]]
    """By calendar: the symbols whose bars alone say that they trade by it."""
    unclear: Mapping[str, Sequence[str]]
    """By several calendars: the symbols whose bars fit these, and not New York's."""
    future_dates: int
    """How many symbols have a bar dated in the future."""
    workers: int | str
    """The number of processes on this machine, or the address of a Dask scheduler."""


def plan(order: Order, now: dt.datetime, step: Step = silent) -> NightPlan:
    """Look through the source and choose the session.

    Raises:
        NightlyError: no name in the source is a symbol, or no symbol has a usable bar.
    """
    outlines = order.source.outlines()
    known_at = {symbol: listing.exchange for symbol, listing in order.reference.listings.items()}
    resolved = resolve(order.source.names(), known_at)
    symbols = sorted(resolved.raw_of)
    named = ((symbol, resolved.raw_of[symbol]) for symbol in symbols)
    listings = [(raw, _listing(order, symbol, raw, outlines.get(raw))) for symbol, raw in named]
    unknown = _unknown_weeks(listings, outlines)
    listings = [pair for pair in listings if pair[0] not in unknown]
    symbols = [its.symbol for _, its in listings]
    if unknown and not listings:
        raise SourceError(" ".join(why.of(raw) for raw, why in islice(unknown.items(), MAX_NAMED)))
    calendars = _calendars(order.source, listings, outlines, now, step)
    listings = [
        (raw, replace(its, inferred_calendar=calendars.one.get(raw))) for raw, its in listings
    ]
    ends = _ends(order.source, listings, outlines, now)
    days = [(known.calendar, day) for known, day in ends]
    as_of = as_of_session(days, now=now, requested=order.session, quorum=order.quorum)
    known = windows(as_of, now, {its.calendar for _, its in listings})
    jobs = 1 if len(listings) <= INLINE and order.executor is None else order.jobs
    shared = Task(
        source=order.source,
        symbols=(),
        as_of=as_of,
        windows=known,
        adjustment=order.adjustment,
        parameters=order.parameters,
        code_version=code_version(),
        running_sessions=order.running_sessions,
        currency=order.currency,
    )
    behind, current, later = _places(ends, known, now)
    begun = to_day(last_begun(now))
    return NightPlan(
        [
            replace(shared, source=order.source.part([raw for raw, _ in batch]), symbols=batch)
            for batch in batches(listings, jobs)
        ],
        symbols,
        as_of,
        unfinished={
            name: window.last
            for name, window in known.items()
            if window.last < last_session(as_of, name)
        },
        upcoming=upcoming(as_of, _active_calendars(ends, known)),
        refused={**order.skipped, **resolved.refused, **unknown},
        later=later if order.session is None else (),
        behind=behind,
        current=current,
        wider=_wider([day for _, day in ends], current) if order.session is None else "",
        overdue="" if order.session or order.name == SAMPLE else _overdue(as_of, ends, known, now),
        inferred=[
            its.symbol
            for _, its in listings
            if its.crypto and its != order.reference.listing(its.symbol)
        ],
        markets=grouped((its.inferred_calendar, its.symbol) for _, its in listings),
        unclear=grouped((calendars.several.get(raw), its.symbol) for raw, its in listings),
        future_dates=sum(known.last_day > begun for known in outlines.values()),
        workers=order.executor or jobs,
    )


def _listing(order: Order, symbol: str, raw: str, outline: Outline | None) -> Listing:
    """A symbol's listing; crypto if it trades every day and nothing says that it is listed. Its
    exchange is the reference's, else that of its name, else the one that was ordered.
    """
    listing = order.reference.listing(symbol)
    listed = listing.exchange is not None or placed(raw)[0] is not None
    if listing.exchange is None:
        listing = listed_at(listing, placed(raw)[0] or order.exchange)
    if outline is None or not outline.weekends or listing.stated or listing.crypto or listed:
        return listing
    pair = quote_of(raw) is not None
    if not pair and (order.exchange is not None or _is_filled(order.source, raw)):
        return listing
    return as_crypto(listing)


def _is_filled(source: BarSource, raw: str) -> bool:
    """Whether the bars of weekends repeat those before them: somebody filled in the days."""
    for loaded in source.load([raw]):
        bars = loaded.bars
        weekend = (bars.date[1:] + 3) % 7 >= 5
        if weekend.any():
            return bool(np.mean(bars.close[1:][weekend] == bars.close[:-1][weekend]) > FILLED)
    return False


def _unknown_weeks(
    listings: Sequence[tuple[str, Listing]], outlines: Mapping[str, Outline]
) -> dict[str, RefusedInput]:
    """The symbols of markets that open on Saturdays or Sundays, whose weeks are not known."""
    found: dict[str, RefusedInput] = {}
    for raw, its in listings:
        market = SUNDAY_MARKETS.get(raw.upper().rpartition(".")[2]) if "." in raw else None
        odd = raw in outlines and outlines[raw].odd_week and not its.crypto
        if market and its.exchange is None and not its.stated:
            reason = f"The trading days of {market} are not known, so {raw} cannot be read."
            found[raw] = RefusedInput("foreign_listing", reason)
        elif odd:
            reason = (
                "It trades on Saturdays or Sundays and not on each day of the week, as in Riyadh, "
                "Tel Aviv or Tehran; the trading days of such markets are not known."
            )
            found[raw] = RefusedInput("foreign_listing", reason)
    return found


def _calendars(
    source: BarSource,
    listings: Sequence[tuple[str, Listing]],
    outlines: Mapping[str, Outline],
    now: dt.datetime,
    step: Step,
) -> Inferred:
    """The calendars that fit the bars of those without an exchange."""
    unknown = {
        raw: outlines[raw].abroad
        for raw, its in listings
        if raw in outlines and its.exchange is None and not its.crypto
    }
    suspects = [raw for raw, abroad in unknown.items() if abroad]
    others = [raw for raw, abroad in unknown.items() if not abroad]
    return inferred(source, suspects, others, to_day(last_begun(now)), step)


def grouped(pairs: Iterable[tuple[str | None, str]]) -> dict[str, list[str]]:
    """By what they have in common, such as a calendar: the symbols that have something."""
    found: dict[str, list[str]] = {}
    for common, symbol in pairs:
        if common:
            found.setdefault(common, []).append(symbol)
    return found


def _ends(
    source: BarSource,
    listings: Sequence[tuple[str, Listing]],
    outlines: Mapping[str, Outline],
    now: dt.datetime,
) -> list[tuple[Listing, int]]:
    """The listing and last day of each symbol with bars; days in the future are passed over."""
    begun = to_day(last_begun(now))
    found = [(raw, its, outlines[raw].last_day) for raw, its in listings if raw in outlines]
    ahead = [raw for raw, _, day in found if day > begun]
    mended = {item.name: item.bars.until(begun).date for item in source.load(ahead)}
    ends = [(its, mended.get(raw, np.array([day]))) for raw, its, day in found]
    return [(its, int(days[-1])) for its, days in ends if len(days)]


def _places(
    ends: Sequence[tuple[Listing, int]], known: Mapping[str, SessionWindow], now: dt.datetime
) -> tuple[list[str], int, list[str]]:
    """The symbols behind the session, the number that have it, and those with a later one."""
    behind, later, current = [], [], 0
    completed = {name: to_day(last_completed(now, name)) for name in known}
    for listing, day in ends:
        window = known[listing.calendar]
        if day >= to_day(window.last):
            current += 1
        elif day >= to_day(window.active_since):
            behind.append(listing.symbol)
        if min(day, completed[listing.calendar]) > to_day(window.last):
            later.append(listing.symbol)
    return behind, current, later


def _wider(days: Sequence[int], current: int) -> str:
    """Name the day on which most symbols end, if these are more than the session has."""
    ends = Counter(days)
    last = max(ends, key=lambda day: (ends[day], day))
    if ends[last] <= current:
        return ""
    session, symbols = to_date(last), sum(day >= last for day in days)
    return (
        f"Few symbols have bars of this session, but {symbols:,} have bars to {session} or "
        "later. If those are still traded, their bars are not complete yet; "
        f"`--session {session}` makes a night with them."
    )


def _overdue(
    as_of: dt.date,
    ends: Sequence[tuple[Listing, int]],
    known: Mapping[str, SessionWindow],
    now: dt.datetime,
) -> str:
    """Say that a night is older than the last session of an exchange, and how many series are."""
    missed = {name: last_completed(now, name) for name in _active_calendars(ends, known)}
    name, last = max(missed.items(), key=lambda item: item[1], default=("", as_of))
    if last <= as_of:
        return ""
    late = sum(to_date(day) < last for its, day in ends if its.calendar == name)
    every = sum(its.calendar == name for its, _ in ends)
    sessions = "The last day of crypto" if name == UTC_DAYS else f"The last session of {name}"
    return (
        f"This night is of {as_of}. {sessions} was {last}: {late:,} of {every:,} series end before "
        "it; update the bars."
    )


def _active_calendars(
    ends: Sequence[tuple[Listing, int]], known: Mapping[str, SessionWindow]
) -> set[str]:
    """The calendars of the symbols with a bar since their calendar's `active_since`."""
    since = {name: to_day(window.active_since) for name, window in known.items()}
    return {its.calendar for its, day in ends if day >= since[its.calendar]}


def held_back(order: Order, chosen: NightPlan) -> str | None:
    """Why a night of a plan is held back: too many symbols are behind its session; else None."""
    behind, active = len(chosen.behind), len(chosen.behind) + chosen.current
    if behind <= order.behind_limit * active:
        return None
    named = ", ".join(chosen.behind[:MAX_NAMED]) + (", ..." if behind > MAX_NAMED else "")
    return (
        f"{behind:,} of {active:,} symbols are behind the session {chosen.as_of} ({named}), more "
        f"than {order.behind_limit:.0%}; update the bars, or publish without them with "
        "--accept-fall"
    )


def pool_of(chosen: NightPlan, *, later: bool = False) -> AbstractContextManager[Pool]:
    """The pool of workers for a plan: of a `later` night that goes on from the results of the last
    one, which is about ten times faster, only if it is large.
    """
    if isinstance(chosen.workers, str):
        return cluster_pool(chosen.workers)
    return local_pool(1 if later and len(chosen.symbols) <= INLINE_LATER else chosen.workers)


def renamed(plan: NightPlan) -> dict[str, str]:
    """The symbol of each raw name that differs from it, at most `MAX_RENAMED` of them."""
    pairs = ((raw, known.symbol) for task in plan.tasks for raw, known in task.symbols)
    return dict(islice(((raw, to) for raw, to in pairs if raw.upper() != to), MAX_RENAMED))


def inputs_of(order: Order, chosen: NightPlan, since: str | None = None) -> Inputs:
    """The inputs of a night, as its manifest states them; it is compared with the night `since`."""
    # These days depend on the clock and not only on the bars, so they must enter the version.
    named = {name: "crypto" if name == UTC_DAYS else name for name in chosen.unfinished}
    cut = {f"{named[name]}_until": str(day) for name, day in sorted(chosen.unfinished.items())}
    # Which dates are in the future depends on the clock too. As time passes there are only fewer
    # of them, so their number identifies the symbols.
    ahead = {"future_dates": chosen.future_dates}
    return Inputs(
        bars=order.name,
        bars_sha256=order.source.digest(),
        reference_sha256=order.reference_sha256,
        parameters={
            **order.parameters._asdict(),
            "adjustment": order.adjustment,
            **({"exchange": order.exchange.mic} if order.exchange else {}),
            **({"currency": order.currency} if order.currency else {}),
            "chart_symbols": order.chart_symbols,
            "running_sessions": order.running_sessions,
            **cut,
            **(ahead if chosen.future_dates else {}),
        },
        code_version=code_version(),
        since=since,
    )
