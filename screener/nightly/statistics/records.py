"""Records: the summaries of trades in the form in which they are served.

Every win rate comes with its sample size, its losses and the placebo: how often random entries with
the same stop and target distances reached the target.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from screener.nightly.bars import to_date
from screener.nightly.detector.events import Rows
from screener.nightly.results.views import multiple, percent
from screener.nightly.statistics.groups import Group
from screener.nightly.statistics.summary import GroupSummary, Mean
from store.wire.families import Direction, Family
from store.wire.method import METHOD, Costs, Estimate, Measure
from store.wire.records import AfterCosts, SideRecord, Sides, TrackRecord
from store.wire.words import plural

COSTS: Final = (10, 25)
"""Round-trip costs in basis points of the entry price."""

Directions = Mapping[Direction, GroupSummary]
"""The trades of each direction in which a family is traded."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What one track record covers."""

    family: Family
    symbol: str | None
    start: dt.date
    end: dt.date
    detector: int
    """The version of the detector that drew the patterns."""
    symbols: int = 1
    """How many have trades in it."""


def measure(summary: GroupSummary, group: Group) -> Measure:
    """The measure of a group with at least one trade."""
    lift = summary.lift
    return Measure(
        family=group.family,
        direction=group.direction,
        decade=group.decade,
        fate=group.fate,
        regime=group.regime,
        trades=summary.trades,
        wins=len(summary.gains),
        losses=summary.losses,
        win_rate_pct=summary.win_rate_pct,
        win_rate_range=summary.win_rate_range,
        avg_win_pct=summary.avg_win_pct,
        avg_loss_pct=summary.avg_loss_pct,
        avg_r=_estimate(summary.r),
        clusters=summary.half_years,
        draws=int(summary.facts["draws"].sum()),
        placebo_pct=_estimate(lift.placebo_pct, percent) if lift else None,
        compared_r=_estimate(lift.own_r) if lift else None,
        placebo_r=_estimate(lift.placebo_r) if lift else None,
        difference_r=_estimate(lift.difference) if lift else None,
        compared=lift.compared if lift else 0,
        after_costs=[
            Costs(basis_points=bp, avg_r=multiple(summary.r_after_costs(bp))) for bp in COSTS
        ],
        adjusted_p=summary.conclusion.adjusted_p,
        verdict=summary.conclusion.verdict,
    )


def track_record(
    scope: Scope,
    whole: GroupSummary,
    directions: Directions,
    placebo: Directions,
    expected_r: float | None = None,
) -> TrackRecord | None:
    """The record of a family or a ticker with the placebo of its family; None without a trade.

    `expected_r` is that of a ticker in the direction of a setup; without it, that of all trades.
    """
    if not whole.trades:
        return None
    moves = whole.facts["realized_pct"]
    gained, lost = float(moves[moves > 0].sum()), -float(moves[moves < 0].sum())
    shared = _shared(whole)
    if expected_r is not None:
        shared["expected_r"] = multiple(expected_r)
    return TrackRecord(
        scope="ticker" if scope.symbol else "family",
        family=scope.family,
        symbol=scope.symbol,
        **shared,
        losses=whole.losses,
        median_win_pct=None if whole.median_win is None else percent(whole.median_win),
        avg_trade_pct=percent(_mean(moves)),
        profit_factor=multiple(gained / lost) if lost else None,
        avg_hold_bars=round(_mean(whole.facts["hold_bars"]), 1),
        backtest_range=[scope.start, scope.end],
        detector=scope.detector,
        method_version=METHOD,
        avg_r_after_costs=AfterCosts(
            **{f"bp_{bp}": multiple(whole.r_after_costs(bp)) for bp in COSTS}
        ),
        by_direction=_sides(scope, directions) if scope.family.both_ways else None,
        measured=_measured(scope, placebo),
        summary=_words(scope, whole),
    )


def _sides(scope: Scope, directions: Directions) -> Sides:
    return Sides(
        **{
            direction: SideRecord(
                **_shared(summary), summary=_words(scope, summary, f" ({direction})")
            )
            if summary.trades
            else None
            for direction, summary in directions.items()
        }
    )


def _shared(summary: GroupSummary) -> dict[str, Any]:
    """The fields of `SideRecord`, all of which `TrackRecord` has too."""
    lift = summary.lift
    error = lift.difference.error if lift else None
    return {
        "sample_size": summary.trades,
        "wins": len(summary.gains),
        "win_rate_pct": summary.win_rate_pct,
        "win_rate_ci95": list(summary.win_rate_range),
        "avg_win_pct": summary.avg_win_pct,
        "avg_loss_pct": summary.avg_loss_pct,
        "avg_r": multiple(summary.r.value),
        "expected_r": multiple(summary.expected_r),
        "compared": lift.compared if lift else 0,
        "placebo_win_rate_pct": percent(lift.placebo_pct.value) if lift else None,
        "placebo_avg_r": multiple(lift.placebo_r.value) if lift else None,
        "lift_r": multiple(lift.difference.value) if lift else None,
        "lift_r_se": None if error is None else multiple(error),
        "verdict": summary.conclusion.verdict,
    }


def _mean(values: Rows) -> float:
    return float(values.sum()) / len(values)


def _estimate(mean: Mean, rounded: Callable[[float], float] = multiple) -> Estimate:
    error = None if mean.error is None else rounded(mean.error)
    return Estimate(mean=rounded(mean.value), error=error)


def _measured(scope: Scope, placebo: Directions) -> str:
    text = (
        "First attempt per formation, entry at the close of the breakout bar, stop and target "
        "frozen at entry, stop first when both are hit in one bar, open trades, costs and slippage "
        "excluded"
    )
    if scope.symbol is None:
        text += f"; on {plural(scope.symbols, 'symbol')}, including any no longer covered"
    both = scope.family.both_ways
    drawn = [
        f"in {lift.placebo_pct.value:.1f}%{f' of {way} entries' if both else ''}, average "
        f"{lift.placebo_r.value:+.3f} R"
        for way, summary in placebo.items()
        if (lift := summary.lift)
    ]
    if not drawn:
        return f"{text}."
    whose = f"{scope.family.label.lower()} family's" if scope.symbol else "same"
    stops = f"the {whose} stops and targets at random dates reached the target"
    return f"{text}; {stops} {', and '.join(drawn)}."


def _words(scope: Scope, whole: GroupSummary, side: str = "") -> str:
    """The record in a sentence, or its part of one side."""
    median = None if whole.median_win is None else percent(whole.median_win)
    where = f" on {scope.symbol}" if scope.symbol else ""
    trades = "trade" if whole.trades == 1 else "trades"
    first = to_date(int(whole.facts["entry_day"].min()))
    win, loss = whole.avg_win_pct, whole.avg_loss_pct
    none = "no stop hit" if whole.losses else "no loss"
    lost = none if loss is None else f"average loss {loss:.2f}%"
    won = "no win" if win is None else f"average win +{win:.2f}%"
    typical = "" if median is None else f", median win +{median:.2f}%"
    return (
        f"{scope.family.label}{side}{where}: {whole.trades:,} resolved {trades} in the bars from "
        f"{scope.start} to {scope.end}, the first entered on {first}; {whole.win_rate_pct:.2f}% "
        f"reached the target; {won}, {lost}{typical}."
    )
