"""The check: what a night would make of some bars, up to and including cleaning.

It finds no pattern and writes nothing. The session, the cleaning and the reasons are the night's
own, so a night that follows says the same. It also says of every row that was read whether it is a
usable bar, or by which rule it is not.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from screener.nightly.analysis import Task, cleaned_symbols, currency_of
from screener.nightly.bars import to_date, to_day
from screener.nightly.cleaning.cleaning import Cleaned
from screener.nightly.cleaning.sessions import SessionWindow
from screener.nightly.errors import NightlyError, RefusedInput, by_code, by_rule
from screener.nightly.plan import NightPlan, Order, held_back, plan, pool_of, renamed
from screener.nightly.reading.source import Loaded, Step, silent
from screener.nightly.reference.reference import Listing
from screener.nightly.symbols import normalise, resolve
from store.wire.currency import DOLLARS

CHECKING: Final = "checking bars"
UNREAD: Final = ("undated_row", "repeated_date", "differing_date")
"""Rules by which rows are dropped before they are bars."""
DROPPING: Final = (
    *("bad_bar", "repeated_bar", "weekend", "holiday", "misprint", "price_spike", "halted"),
)
"""Rules of cleaning by which bars are dropped; each counts every bar that it drops."""
FUTURE: Final = "future_date"
LATER: Final = "after_session"
"""Bars that a night of a later session would use."""


@dataclass(frozen=True, slots=True)
class SymbolCheck:
    """One symbol after cleaning: its usable bars, what was found in them, or why there are none."""

    symbol: str
    rows: int = 0
    """Rows in its files."""
    lost: Mapping[str, int] = field(default_factory=dict)
    """By rule: how many of its rows are no usable bars."""
    bars: int = 0
    first: dt.date | None = None
    last: dt.date | None = None
    refusal: RefusedInput | None = None
    findings: Mapping[str, int] = field(default_factory=dict)
    adjustment_known: bool = True
    """Whether the reference or the file says what the prices are adjusted for."""
    currency: str = DOLLARS
    currency_known: bool = True
    """Whether one of them says the currency; else it is that of its exchange."""

    def as_dict(self) -> dict[str, Any]:
        """What became of its rows, and why it is left out if it is, as JSON values."""
        return {
            "rows": self.rows,
            "bars": self.bars,
            "first": _day(self.first),
            "last": _day(self.last),
            "lost": self.lost,
            "left_out": self.refusal.code if self.refusal else None,
        }


@dataclass(frozen=True, slots=True)
class Check:
    """What a night would say about its bars."""

    order: Order
    symbols: Sequence[SymbolCheck]
    bad_names: Mapping[str, RefusedInput]
    """Names of the source that cannot be symbols, with the rows under them."""
    chosen: NightPlan | None = None
    """The plan of the night; None if there can be no night."""
    trouble: str = ""
    """Why there can be no night, where that is not the fault of single symbols."""

    @property
    def covered(self) -> int:
        """How many symbols a night would serve."""
        return sum(one.refusal is None for one in self.symbols)

    @property
    def refused(self) -> dict[str, dict[str, str]]:
        """By code: what would be left out, each with its reason."""
        symbols = {one.symbol: one.refusal for one in self.symbols if one.refusal}
        return by_code({**symbols, **self.order.skipped, **self.bad_names})

    @property
    def lost(self) -> dict[str, dict[str, int]]:
        """By rule: how many rows are no usable bars, of how many symbols and files."""
        others = [*self.order.skipped.values(), *self.bad_names.values()]
        losses = [one.lost for one in self.symbols]
        losses += [{refusal.code: refusal.rows} for refusal in others if refusal.rows]
        lost = by_rule(losses)
        return {rule: {"symbols": symbols, "rows": rows} for rule, (rows, symbols) in lost.items()}

    def as_dict(self) -> dict[str, Any]:
        """The check as JSON values, under the names that the report of a night has for them."""
        chosen, lost = self.chosen, self.lost
        firsts = [one.first for one in self.symbols if one.first]
        lasts = [one.last for one in self.symbols if one.last]
        bars = sum(one.bars for one in self.symbols)
        all_rows = bars + sum(counts["rows"] for counts in lost.values())
        assumed = Counter(one.currency for one in self.symbols if not one.currency_known)
        markets, unclear = (chosen.markets, chosen.unclear) if chosen else ({}, {})
        read = dict(self.order.rows or {self.order.name: all_rows})
        return {
            "session": chosen.as_of.isoformat() if chosen else None,
            "trouble": self.trouble,
            "symbols": len(self.symbols),
            "covered": self.covered,
            "rows": sum(read.values()),
            "read": read,
            "lost": lost,
            "bars": bars,
            "first": _day(min(firsts, default=None)),
            "last": _day(max(lasts, default=None)),
            "held_back": (held_back(self.order, chosen) if chosen else None) or "",
            "series": {one.symbol: one.as_dict() for one in self.symbols if one.rows},
            "later": sorted(chosen.later) if chosen else [],
            "wider": chosen.wider if chosen else "",
            "overdue": chosen.overdue if chosen else "",
            "assumed": {
                "crypto": sorted(chosen.inferred) if chosen else [],
                "adjustment": self.order.adjustment,
                "adjustment_symbols": sum(not one.adjustment_known for one in self.symbols),
                "currency": DOLLARS,
                "currency_symbols": assumed.pop(DOLLARS, 0),
                "currencies": assumed,
                "markets": {name: sorted(them) for name, them in markets.items()},
                "unclear_markets": {name: sorted(them) for name, them in unclear.items()},
            },
            "refused": self.refused,
            "found": {one.symbol: dict(one.findings) for one in self.symbols if one.findings},
            "source": {**self.order.told, **({"renamed": renamed(chosen)} if chosen else {})},
        }


def check(order: Order, now: dt.datetime, step: Step = silent) -> Check:
    """Look at every symbol of an order as its night would.

    Raises:
        NightlyError: a worker failed, or the source cannot be read.
    """
    step("reading the source", 0, 0)
    bad_names = _bad_names(order)
    try:
        chosen = plan(order, now, step)
    except NightlyError as error:
        dated = any(normalise(name) for name in order.source.outlines())
        trouble = str(error) if dated else "No symbol has a bar that can be read."
        return Check(order, _unusable(order, trouble), bad_names, trouble=trouble)
    symbols: list[SymbolCheck] = []
    with pool_of(chosen) as pool:
        step(CHECKING, 0, len(chosen.symbols))
        for batch in pool.run(check_symbols, chosen.tasks):
            symbols += batch
            step(CHECKING, len(symbols), len(chosen.symbols))
    others = [name for name in chosen.refused if name not in {**bad_names, **order.skipped}]
    counted = {loaded.name: _rows(loaded) for loaded in order.source.load(others)}
    bad_names |= {name: replace(chosen.refused[name], rows=counted[name]) for name in others}
    return Check(order, symbols, bad_names, chosen)


def check_symbols(task: Task) -> list[SymbolCheck]:
    """Load and clean the symbols of a task; runs in a worker process."""
    return [
        _check_symbol(listing, loaded, cleaned, task.windows[listing.calendar], task.currency)
        for listing, loaded, cleaned in cleaned_symbols(task)
    ]


def _check_symbol(
    listing: Listing, loaded: Loaded, cleaned: Cleaned, window: SessionWindow, currency: str | None
) -> SymbolCheck:
    if unread := loaded.refusal:
        return _refused(listing.symbol, loaded, unread)
    days, (code, stated) = cleaned.bars.date, currency_of(loaded, listing, currency)
    return SymbolCheck(
        listing.symbol,
        _rows(loaded),
        _lost(loaded, cleaned, window),
        len(days),
        to_date(days[0]) if len(days) else None,
        to_date(days[-1]) if len(days) else None,
        cleaned.refusal,
        cleaned.findings,
        adjustment_known=not len(days) or bool(listing.adjustment or loaded.adjustment),
        currency=code,
        currency_known=not len(days) or stated,
    )


def _refused(symbol: str, loaded: Loaded, refusal: RefusedInput, rule: str = "") -> SymbolCheck:
    """A symbol whose bars are all left out by one rule: the refusal's, if no other is named."""
    rows, lost = _rows(loaded), _dropped(loaded.findings, UNREAD)
    if rest := rows - sum(lost.values()):
        lost[rule or refusal.code] = rest
    return SymbolCheck(symbol, rows, lost, refusal=refusal, findings=loaded.findings)


def _lost(loaded: Loaded, cleaned: Cleaned, window: SessionWindow) -> dict[str, int]:
    """By rule: the rows of a symbol that are no usable bars."""
    bars = loaded.bars
    begun, until = (len(bars.until(to_day(day))) for day in (window.begun, window.last))
    lost = {
        **_dropped(loaded.findings, UNREAD),
        **_dropped(cleaned.findings, DROPPING),
        **cleaned.withheld,
        FUTURE: len(bars) - begun,
        LATER: begun - until,
    }
    return {rule: rows for rule, rows in lost.items() if rows}


def _dropped(findings: Mapping[str, int], rules: Sequence[str]) -> dict[str, int]:
    return {rule: findings[rule] for rule in rules if rule in findings}


def _rows(loaded: Loaded) -> int:
    """The rows that a source has of a name."""
    refused = loaded.refusal.rows if loaded.refusal else 0
    return len(loaded.bars) + refused + sum(_dropped(loaded.findings, UNREAD).values())


def _bad_names(order: Order) -> dict[str, RefusedInput]:
    """The names of a source that cannot be symbols, each with the number of its rows."""
    refused = resolve(order.source.names()).refused
    if not refused:
        return {}
    rows = {loaded.name: _rows(loaded) for loaded in order.source.load(list(refused))}
    return {name: replace(refusal, rows=rows[name]) for name, refusal in refused.items()}


def _unusable(order: Order, trouble: str) -> list[SymbolCheck]:
    """The symbols of a source that there can be no night of: all its bars are of the future."""
    none, ahead = RefusedInput("no_bars", trouble), "up to today" in trouble
    symbol_of = {raw: symbol for symbol, raw in resolve(order.source.names()).raw_of.items()}
    return [
        _refused(symbol_of[loaded.name], loaded, loaded.refusal)
        if loaded.refusal
        else _refused(symbol_of[loaded.name], loaded, none, FUTURE if ahead else "")
        for loaded in order.source.load(list(symbol_of))
    ]


def _day(day: dt.date | None) -> str | None:
    return day.isoformat() if day else None
