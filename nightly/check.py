"""The check: what a night would make of some bars, up to and including cleaning.

It finds no pattern and writes nothing. The session, the cleaning and the reasons are the night's
own, so a night that follows says the same.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nightly.analysis import Task, quoted_in
from nightly.bars import to_date
from nightly.errors import NightlyError, Refusal, by_code
from nightly.plan import Order, Step, held_back, plan, pool_of, renamed, silent
from nightly.reference import Listing
from nightly.sources import Loaded
from nightly.symbols import normalise, resolve

CHECKING = "checking bars"
UNREAD = ("undated_row", "repeated_date")
"""Rules by which rows are dropped before they are bars."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One symbol after cleaning: its usable bars, what was found in them, or why there are none."""

    symbol: str
    rows: int = 0
    """Of its files."""
    bars: int = 0
    first: dt.date | None = None
    last: dt.date | None = None
    refusal: Refusal | None = None
    findings: Mapping[str, int] = field(default_factory=dict)
    adjustment_told: bool = True
    """Whether the reference or the file says what the prices are adjusted for."""
    currency_told: bool = True
    """Whether one of them says the currency."""

    def series(self) -> dict[str, int | str | None]:
        """How many usable bars it has, from which day to which, and why it is left out if it is."""
        return {
            "rows": self.rows,
            "bars": self.bars,
            "first": str(self.first),
            "last": str(self.last),
            "left_out": self.refusal.code if self.refusal else None,
        }


@dataclass(frozen=True, slots=True)
class Check:
    """What a night would say about its bars."""

    source: Mapping[str, Any]
    """How the source was read, as in the report of a night."""
    seen: Sequence[Seen]
    refused_names: Mapping[str, Refusal]
    """Names that cannot be symbols and files that were left out."""
    session: dt.date | None = None
    """The session of the night; None if there can be no night."""
    trouble: str = ""
    """Why there can be no night, where that is not the fault of single symbols."""
    held_back: str = ""
    """Why the night would be held back, if it would be."""
    later: Sequence[str] = ()
    """Symbols with sessions after the night's, which too few symbols reach."""
    wider: str = ""
    """Which session covers more symbols, if one does."""
    inferred: Sequence[str] = ()
    """Symbols that are taken for crypto because they trade on weekends."""
    adjustment: str = "split"
    """What prices are taken to be adjusted for where nothing tells."""

    @property
    def covered(self) -> int:
        """How many symbols a night would serve."""
        return sum(one.refusal is None for one in self.seen)

    @property
    def refused(self) -> dict[str, dict[str, str]]:
        """By code: what would be left out, each with its reason."""
        reasons = {one.symbol: one.refusal for one in self.seen if one.refusal}
        return by_code({**reasons, **self.refused_names})

    def as_dict(self) -> dict[str, Any]:
        """The check as JSON values, under the names that the report of a night has for them."""
        firsts = [one.first for one in self.seen if one.first]
        lasts = [one.last for one in self.seen if one.last]
        return {
            "session": self.session.isoformat() if self.session else None,
            "trouble": self.trouble,
            "symbols": len(self.seen),
            "covered": self.covered,
            "rows": sum(one.rows for one in self.seen),
            "bars": sum(one.bars for one in self.seen),
            "first": min(firsts).isoformat() if firsts else None,
            "last": max(lasts).isoformat() if lasts else None,
            "held_back": self.held_back,
            "series": {one.symbol: one.series() for one in self.seen if one.bars},
            "later": sorted(self.later),
            "wider": self.wider,
            "assumed": {
                "crypto": sorted(self.inferred),
                "adjustment": self.adjustment,
                "adjustment_symbols": sum(not one.adjustment_told for one in self.seen),
                "currency": "USD",
                "currency_symbols": sum(not one.currency_told for one in self.seen),
            },
            "refused": self.refused,
            "found": {one.symbol: dict(one.findings) for one in self.seen if one.findings},
            "source": dict(self.source),
        }


def check(order: Order, now: dt.datetime, step: Step = silent) -> Check:
    """Look at every symbol of an order as its night would.

    Raises:
        NightlyError: a worker failed, or the source cannot be read.
    """
    step("reading the source", 0, 0)
    if not any(normalise(name) for name in order.source.outlines()):
        return _nothing(order, "No symbol has a bar that can be read.")
    try:
        chosen = plan(order, now)
    except NightlyError as error:
        return _nothing(order, str(error))
    seen: list[Seen] = []
    with pool_of(chosen) as pool:
        step(CHECKING, 0, len(chosen.symbols))
        for batch in pool.run(look, chosen.tasks):
            seen += batch
            step(CHECKING, len(seen), len(chosen.symbols))
    return Check(
        {**order.told, "renamed": renamed(chosen)},
        seen,
        chosen.refused,
        session=chosen.as_of,
        later=chosen.later,
        wider=chosen.wider,
        inferred=chosen.inferred,
        held_back=held_back(order, chosen) or "",
        adjustment=order.adjustment,
    )


def look(task: Task) -> list[Seen]:
    """Load and clean the symbols of a task; runs in a worker process."""
    task.check_version()
    listings = dict(task.symbols)
    loaded = task.source.load([name for name, _ in task.symbols])
    return [_seen(item, listings[item.name], task) for item in loaded]


def _seen(loaded: Loaded, listing: Listing, task: Task) -> Seen:
    if loaded.refusal is not None:
        return Seen(listing.symbol, refusal=loaded.refusal, findings=loaded.findings)
    cleaned = task.clean(loaded, listing)
    findings = {**loaded.findings, **cleaned.findings}
    rows = len(loaded.bars) + sum(loaded.findings.get(rule, 0) for rule in UNREAD)
    if not cleaned.series:
        refusal = cleaned.refusal or Refusal("too_few_bars", "No bar was left after cleaning.")
        return Seen(listing.symbol, rows, refusal=refusal, findings=findings)
    return Seen(
        listing.symbol,
        rows,
        sum(map(len, cleaned.series)),
        to_date(cleaned.series[0].bars.date[0]),
        to_date(cleaned.series[-1].bars.date[-1]),
        cleaned.refusal,
        findings,
        adjustment_told=bool(listing.adjustment or loaded.adjustment),
        currency_told=quoted_in(loaded, listing) is not None,
    )


def _nothing(order: Order, trouble: str) -> Check:
    """The check of a source that there can be no night of: only what is wrong with each name."""
    resolved, dated = resolve(order.source.names()), order.source.outlines()
    none = Refusal("no_bars", trouble)
    seen = [Seen(symbol, refusal=none) for symbol, raw in resolved.raw_of.items() if raw in dated]
    unread = {raw: symbol for symbol, raw in resolved.raw_of.items() if raw not in dated}
    seen += [
        Seen(unread[loaded.name], refusal=loaded.refusal or none)
        for loaded in order.source.load(list(unread))
    ]
    return Check(order.told, seen, {**order.left, **resolved.refused}, trouble=trouble)
