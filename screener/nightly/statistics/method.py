"""The method's numbers: groups of trades compared with their placebo."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np

from screener.nightly.detector.events import Outcome
from screener.nightly.results.history import ListingStatus
from screener.nightly.results.placebo import MAX_DISTANCE, MIN_DISTANCE, PAIRS
from screener.nightly.results.views import multiple
from screener.nightly.statistics.groups import FATES, Group, ResolvedTrades, is_few
from screener.nightly.statistics.records import measure
from screener.nightly.statistics.summary import UNTESTED, Conclusion, GroupSummary
from store.wire.families import Family
from store.wire.method import METHOD, Distribution, Measure, Method
from store.wire.records import AsServed


def method(
    trades: ResolvedTrades,
    conclusions: Mapping[Group, Conclusion],
    *,
    open_trades: int,
    fates: Counter[ListingStatus],
    start: dt.date,
    as_of: dt.date,
    as_served: Mapping[Family, AsServed],
) -> Method:
    """The method record of the trades of all symbols, of which `fates` counts the fates."""
    return Method(
        as_of_session=as_of,
        start=start,
        symbols=fates.total(),
        ended=fates[ListingStatus.STOPPED] + fates[ListingStatus.DELISTED],
        delisted=fates[ListingStatus.DELISTED],
        delisted_trades=int(np.count_nonzero(trades.facts["outcome"] == Outcome.DELISTED)),
        open_trades=open_trades,
        draws_per_trade=2 * PAIRS,
        nearest_draw=MIN_DISTANCE,
        farthest_draw=MAX_DISTANCE,
        measures=list(_measures(trades, conclusions)),
        version=METHOD,
        tested=sum(group.symbol is None for group in conclusions),
        as_served=list(as_served.items()),
        untested=list(_untested(trades)),
        distributions=[_distribution(trades, family) for family in Family],
    )


def shown(trades: ResolvedTrades) -> Iterator[Group]:
    """The groups of the method page; some of them may have no trade."""
    yield Group()
    for family in Family:
        for direction in family.directions:
            yield Group(family, direction)
    if len(np.unique(trades.facts["fate"])) > 1:
        for fate in FATES:
            yield Group(fate=fate)
    for regime in trades.regimes:
        yield Group(regime=regime)
    for decade in np.unique(trades.decades).tolist():
        yield Group(decade=decade)
        for family in Family:
            yield Group(family, decade=decade)


def _measures(trades: ResolvedTrades, conclusions: Mapping[Group, Conclusion]) -> Iterator[Measure]:
    for group in shown(trades):
        facts = trades.rows(group)
        if len(facts):
            yield measure(GroupSummary(facts, conclusions.get(group, UNTESTED)), group)


def _untested(trades: ResolvedTrades) -> Iterator[Measure]:
    # More lines tested together would make it harder for all others to differ.
    for family in Family:
        for regime in trades.regimes:
            group = Group(family, regime=regime)
            facts = trades.rows(group)
            if len(facts):
                conclusion = UNTESTED if is_few(facts) else Conclusion(None)
                yield measure(GroupSummary(facts, conclusion), group)


def _distribution(trades: ResolvedTrades, family: Family) -> Distribution:
    """The R multiples of a family's trades, as its rows of history have them."""
    r = trades.rows(Group(family))["r"]
    return Distribution.of([multiple(value) for value in r.tolist()], family)
