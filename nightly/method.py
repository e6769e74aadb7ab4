"""The method's numbers: groups of trades compared with their placebo."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final

import numpy as np

from nightly import intervals
from nightly.events import Outcome, Rows
from nightly.groups import FATES, THIRDS, TRENDS, UNTESTED, Group, Tested, Trades, is_few
from nightly.history import Fate
from nightly.lift import Lift, half_years_of
from nightly.numbers import multiple, percent
from nightly.placebo import FARTHEST, NEAREST, PAIRS
from nightly.series import Places
from store.wire.families import Family
from store.wire.method import METHOD, Costs, Distribution, Estimate, Measure, Method

COSTS: Final = (10, 25)
"""Round-trip costs in basis points of the entry price."""


def method(
    trades: Trades,
    tested: Mapping[Group, Tested],
    *,
    open_trades: int,
    fates: Counter[Fate],
    start: dt.date,
    as_of: dt.date,
) -> Method:
    """The method record of the trades of all symbols, of which `fates` counts the fates."""
    return Method(
        as_of_session=as_of,
        start=start,
        symbols=fates.total(),
        ended=fates[Fate.STOPPED] + fates[Fate.DELISTED],
        delisted=fates[Fate.DELISTED],
        delisted_trades=int(np.count_nonzero(trades.facts["outcome"] == Outcome.DELISTED)),
        open_trades=open_trades,
        draws_per_trade=2 * PAIRS,
        nearest_draw=NEAREST,
        farthest_draw=FARTHEST,
        measures=[
            measure(trades.facts[members], group, tested.get(group, UNTESTED))
            for group, members in shown(trades)
        ],
        version=METHOD,
        tested=sum(t.adjusted_p is not None for g, t in tested.items() if g.symbol is None),
        untested=list(_untested(trades)),
        distributions=[distribution(trades, family) for family in Family],
    )


def distribution(trades: Trades, family: Family) -> Distribution:
    """The R multiples of a family's trades, as its rows of history have them."""
    r = trades.facts["r"][trades.members(Group(family))]
    return Distribution.of([multiple(value) for value in r.tolist()], family)


def _untested(trades: Trades) -> Iterator[Measure]:
    # More lines tested together would make it harder for all others to differ.
    for family in Family:
        for regime in (*TRENDS, *THIRDS):
            group = Group(family, regime=regime)
            facts = trades.facts[trades.members(group)]
            if len(facts):
                yield measure(facts, group, UNTESTED if is_few(facts) else Tested(None))


def shown(trades: Trades) -> Iterator[tuple[Group, Places]]:
    """The groups of the method page that have trades, and where these stand."""
    for group in _groups(trades):
        members = trades.members(group)
        if len(members):
            yield group, members


def _groups(trades: Trades) -> Iterator[Group]:
    yield Group()
    for family in Family:
        for direction in family.directions:
            yield Group(family, direction)
    if len(np.unique(trades.facts["fate"])) > 1:
        for fate in FATES:
            yield Group(fate=fate)
    for regime in (*TRENDS, *THIRDS):
        yield Group(regime=regime)
    for decade in np.unique(trades.decades).tolist():
        yield Group(decade=decade)
        for family in Family:
            yield Group(family, decade=decade)


def measure(trades: Rows, group: Group, tested: Tested) -> Measure:
    """The measure of one group of resolved `FACTS` rows, at least one."""
    won, lost = (trades["outcome"] == outcome for outcome in (Outcome.WIN, Outcome.LOSS))
    moves, wins, number = trades["realized_pct"], int(np.count_nonzero(won)), len(trades)
    times, lift = half_years_of(trades), Lift.of(trades)
    low, high = intervals.wilson(wins, number)
    avg_r = intervals.clustered(trades["r"], np.ones(number), times)
    assert avg_r is not None  # noqa: S101 - there is at least one trade
    written = partial(_written, few=tested.verdict == "too_few")
    return Measure(
        family=group.family,
        direction=group.direction,
        decade=group.decade,
        fate=group.fate,
        regime=group.regime,
        trades=number,
        wins=wins,
        losses=number - wins,
        win_rate_pct=percent(100 * wins / number),
        win_rate_range=(percent(100 * low), percent(100 * high)),
        avg_win_pct=percent(moves[won].mean()) if wins else None,
        avg_loss_pct=percent(moves[lost].mean()) if lost.any() else None,
        avg_r=written(avg_r),
        clusters=len(np.unique(times)),
        draws=int(trades["draws"].sum()),
        placebo_pct=written(lift.placebo_pct, percent) if lift else None,
        compared_r=written(lift.own_r) if lift else None,
        placebo_r=written(lift.placebo_r) if lift else None,
        difference_r=written(lift.difference) if lift else None,
        compared=lift.compared if lift else 0,
        after_costs=[
            Costs(basis_points=bp, avg_r=multiple(after_costs(trades, bp))) for bp in COSTS
        ],
        adjusted_p=tested.adjusted_p,
        verdict=tested.verdict,
    )


def _written(
    found: intervals.Estimate, rounded: Callable[[float], float] = multiple, *, few: bool
) -> Estimate:
    # The error of a few trades is itself so uncertain that it may look like a finding.
    error = None if few or found.error is None else rounded(found.error)
    return Estimate(mean=rounded(found.mean), error=error)


def after_costs(trades: Rows, basis_points: int) -> float:
    """Average R after round-trip costs; the tighter the stop, the more R they take."""
    return float((trades["r"] - basis_points / 100 / trades["risk_pct"]).mean())
