"""Inference: whose trading days a symbol has, where nothing but its bars can tell.

A bar on a day on which an exchange was closed, and a session without a bar, speak against its
calendar. The calendar with the least against it is a symbol's if every other has clearly more. A
young symbol seldom shows that much; it takes the best of the calendars that others of its source
have.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from screener.nightly.bars import Days, to_date, to_day
from screener.nightly.markets.calendars import calendar_of, sessions_between
from screener.nightly.reading.source import BarSource, Step
from store.wire.exchanges import NEW_YORK, customary_currency, exchanges

COMPARING: Final = "comparing trading days"
LATEST: Final = 1250
"""Bars that are compared: about five years. Some calendars differ by a day a year."""
CLEARLY: Final = 2
"""So many days must speak against every other calendar, and as many times those against the best.
"""
ODD_SHARE: Final = 0.01
"""No calendar fits bars of which a larger share lies on its holidays."""
FIRST_DAY: Final = to_day(dt.date(1990, 1, 1))
"""Earlier days do not count: no calendar is asked for the year 1."""
BATCH: Final = 256
"""Symbols whose bars are held at a time."""

Calendars = Mapping[str, Days]


class Inferred(NamedTuple):
    """Inferred markets: the calendars that symbols trade by, by raw name."""

    one: Mapping[str, str]
    """The calendar of a symbol that has another one than New York's."""
    several: Mapping[str, str]
    """The calendars of a symbol that is not of New York's, of which none fits clearly better."""


def inferred(
    source: BarSource, suspects: Sequence[str], others: Sequence[str], until: int, step: Step
) -> Inferred:
    """The calendars of symbols.

    `suspects` have bars on New York's holidays; `others` have hardly any, but nothing says either
    where they are listed. Bars after the day `until` do not count.
    """
    days = dict(_latest(source, suspects, until))
    if not days:
        return Inferred({}, {})
    calendars = _calendars(days, step)
    fits = {name: fitting(mine, calendars) for name, mine in days.items()}
    found = {name: fit[0] for name, fit in fits.items() if len(fit) == 1}
    latest = to_date(max(int(mine[-1]) for mine in days.values()))
    few = {name: calendar_of(name, latest).sessions for name in {NEW_YORK, *found.values()}}
    rest = [name for name in (*suspects, *others) if name not in found] if found else []
    for name, mine in _latest(source, rest, until):
        if len(fit := fitting(mine, few, clearly=1)) == 1:
            found[name] = fit[0]
    unclear = {name: fit for name, fit in fits.items() if fit and name not in found}
    several = {name: ", ".join(fit) for name, fit in unclear.items() if NEW_YORK not in fit}
    return Inferred({name: one for name, one in found.items() if one != NEW_YORK}, several)


def fitting(days: Days, calendars: Calendars, clearly: int = CLEARLY) -> Sequence[str]:
    """The calendars that fit some days, the best first: one, if clearly more speaks against every
    other. Those of one currency with the same sessions in that time count as one.
    """
    first, last = days[0], days[-1]
    found: dict[tuple[str, bytes], tuple[int, int, str]] = {}
    for name, sessions in calendars.items():
        within = sessions[(sessions >= first) & (sessions <= last)]
        both = len(np.intersect1d(days, within, assume_unique=True))
        odd = len(days) - both
        against = odd + len(within) - both, odd, name
        found.setdefault((customary_currency(name), within.tobytes()), against)
    least, odd, _ = min(found.values())
    if odd > ODD_SHARE * len(days):
        return []
    return [name for against, _, name in sorted(found.values()) if against < clearly * (least + 1)]


def _latest(source: BarSource, names: Sequence[str], until: int) -> Iterator[tuple[str, Days]]:
    """The weekdays of the latest bars, up to a day, of some names that have any."""
    for start in range(0, len(names), BATCH):
        for loaded in source.load(names[start : start + BATCH]):
            days = loaded.bars.until(until).date[-LATEST:]
            days = days[((days + 3) % 7 < 5) & (days >= FIRST_DAY)]
            if len(days):
                yield loaded.name, days


def _calendars(days: Mapping[str, Days], step: Step) -> Calendars:
    """The sessions by every calendar around some days."""
    first = min(int(mine[0]) for mine in days.values())
    last = max(int(mine[-1]) for mine in days.values())
    names = list(dict.fromkeys(exchange.calendar for exchange in exchanges()))
    found = {}
    for number, name in enumerate(names):
        step(COMPARING, number, len(names))
        found[name] = sessions_between(name, first, last)
    return found
