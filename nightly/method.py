"""The method's numbers: trades compared with their placebo, by family, direction and decade."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from nightly import intervals
from nightly.bars import Floats, to_date
from nightly.events import Outcome, Rows
from nightly.history import Fate
from nightly.numbers import multiple, percent
from nightly.patterns import FAMILIES, direction_name
from nightly.placebo import DRAWS, FARTHEST, NEAREST
from store.families import Direction, Family
from store.method import Costs, Estimate, Measure, Method, SymbolFate

COSTS: Final = (10, 25)
"""Round-trip costs in basis points of the entry price."""


FATES: Final[Mapping[Fate, SymbolFate]] = {
    Fate.CURRENT: "current",
    Fate.STOPPED: "stopped",
    Fate.DELISTED: "delisted",
}


def method(trades: Rows, *, fates: Counter[Fate], start: dt.date, as_of: dt.date) -> Method:
    """The method record of the `FACTS` rows of all symbols, of which `fates` counts the fates."""
    resolved = trades[trades["outcome"] != Outcome.OPEN]
    return Method(
        as_of_session=as_of,
        start=start,
        symbols=fates.total(),
        ended=fates[Fate.STOPPED] + fates[Fate.DELISTED],
        delisted=fates[Fate.DELISTED],
        delisted_trades=int(np.count_nonzero(trades["outcome"] == Outcome.DELISTED)),
        open_trades=len(trades) - len(resolved),
        draws_per_trade=DRAWS,
        nearest_draw=NEAREST,
        farthest_draw=FARTHEST,
        measures=list(_measures(resolved)) if len(resolved) else [],
    )


def _measures(trades: Rows) -> Iterator[Measure]:
    decades = np.array([to_date(day).year // 10 * 10 for day in trades["entry_day"]])
    yield measure(trades)
    for index, family in enumerate(FAMILIES):
        mine = trades["family"] == index
        for sign in (1, -1):
            both = mine & (trades["direction"] == sign)
            if both.any():
                yield measure(trades[both], family, direction_name(sign))
    fates = np.unique(trades["fate"]).tolist()
    if len(fates) > 1:
        for fate in fates:
            yield measure(trades[trades["fate"] == fate], fate=FATES[Fate(fate)])
    for decade in np.unique(decades).tolist():
        yield measure(trades[decades == decade], decade=decade)
        for index, family in enumerate(FAMILIES):
            both = (trades["family"] == index) & (decades == decade)
            if both.any():
                yield measure(trades[both], family, decade=decade)


def measure(
    trades: Rows,
    family: Family | None = None,
    direction: Direction | None = None,
    decade: int | None = None,
    fate: SymbolFate | None = None,
) -> Measure:
    """The measure of one group of resolved trades, at least one."""
    won, lost = (trades["outcome"] == outcome for outcome in (Outcome.WIN, Outcome.LOSS))
    moves, r, draws = trades["realized_pct"], trades["r"], trades["draws"].astype(np.float64)
    wins, number = int(np.count_nonzero(won)), len(trades)
    months, one = _months(trades), np.ones(number)
    drawn = draws > 0
    own = r[drawn] - trades["drawn_r"][drawn] / draws[drawn]
    low, high = intervals.wilson(wins, number)
    avg_r = _estimate(r, one, months)
    assert avg_r is not None  # noqa: S101 - there is at least one trade
    return Measure(
        family=family,
        direction=direction,
        decade=decade,
        fate=fate,
        trades=number,
        wins=wins,
        losses=number - wins,
        win_rate_pct=percent(100 * wins / number),
        win_rate_range=(percent(100 * low), percent(100 * high)),
        avg_win_pct=percent(moves[won].mean()) if wins else None,
        avg_loss_pct=percent(moves[lost].mean()) if lost.any() else None,
        avg_r=avg_r,
        months=len(np.unique(months)),
        draws=int(draws.sum()),
        placebo_pct=_estimate(100.0 * trades["drawn_wins"], draws, months, percent),
        difference_r=_estimate(own, one[drawn], months[drawn]),
        after_costs=[Costs(basis_points=bp, avg_r=multiple(_after(trades, bp))) for bp in COSTS],
    )


def _months(trades: Rows) -> npt.NDArray[np.int64]:
    days = trades["entry_day"].astype("datetime64[D]")
    months: npt.NDArray[np.int64] = days.astype("datetime64[M]").astype(np.int64)
    return months


def _estimate(
    totals: Floats,
    weights: Floats,
    months: npt.NDArray[np.int64],
    written: Callable[[float], float] = multiple,
) -> Estimate | None:
    found = intervals.clustered(totals, weights, months)
    if found is None:
        return None
    error = None if found.error is None else written(found.error)
    return Estimate(mean=written(found.mean), error=error)


def _after(trades: Rows, basis_points: int) -> float:
    """Average R after round-trip costs; the tighter the stop, the more R they take."""
    return float((trades["r"] - basis_points / 100 / trades["risk_pct"]).mean())
