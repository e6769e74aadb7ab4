"""Track records: the results of the resolved first attempts of a family, or of one ticker in it.

Every win rate comes with its sample size, its losses and the placebo: how often random entries with
the same stops and targets reached the target.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from nightly import intervals
from nightly.events import Outcome, Rows
from nightly.groups import SIGNS, UNTESTED, Group, Tested, group_of
from nightly.lift import Lift
from nightly.method import after_costs
from nightly.numbers import multiple, percent
from nightly.parameters import Parameters
from store.wire.families import Direction, Family
from store.wire.method import METHOD
from store.wire.records import AfterCosts, SideRecord, Sides, TrackRecord

SHRINKAGE = 60
"""Weight of the prior in trades. Predicting later R from earlier R improves up to about here."""

R_CLIP = (-3.0, 10.0)
"""Bounds for one trade's R, used only in `expected_r`, so that one outlier cannot dominate it."""


Placebo = Mapping[Direction, Lift]
"""What the random entries of a family came to, by direction."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The trades that one track record covers."""

    family: Family
    symbol: str | None
    facts: Rows
    """Resolved `FACTS` rows."""
    start: dt.date
    end: dt.date
    tested: Mapping[Group, Tested] = field(default_factory=dict)
    """The verdicts on the groups that were tested; others have too few trades."""
    detector: int = Parameters().detector
    """The version of the detector that drew the patterns."""
    priors: Mapping[Direction, float] = field(default_factory=dict)
    """By direction: the value that the expected R of a ticker is shrunk towards, its family's."""

    def side(self, direction: Direction) -> Rows:
        """The trades of one direction."""
        rows: Rows = self.facts[self.facts["direction"] == SIGNS[direction]]
        return rows

    def verdict(self, direction: Direction | None = None) -> Tested:
        """What may be said of the sample, or of one direction in it."""
        group = group_of(self.family, direction, self.symbol)
        return self.tested.get(group, UNTESTED)


def expected_r(r: npt.NDArray[np.float64], prior: float = 0.0) -> float:
    """The mean R shrunk towards a prior: 0 for a family, the family's value for a ticker."""
    total = float(np.clip(r, *R_CLIP).sum())
    return (total + SHRINKAGE * prior) / (len(r) + SHRINKAGE)


def placebo_of(sample: Sample) -> Placebo:
    """What the random entries of a family's sample came to, in each direction that has any."""
    lifts = {way: Lift.of(sample.side(way)) for way in sample.family.directions}
    return {way: lift for way, lift in lifts.items() if lift is not None}


def track_record(
    sample: Sample, placebo: Placebo, expected: float | None = None
) -> TrackRecord | None:
    """The record of a sample with its family's placebo; None if it has no trade.

    `expected` is the expected R of a ticker in the direction of a setup. Without it, that of all
    trades shrunk towards 0 is stated, as for a family.
    """
    facts = sample.facts
    if not len(facts):
        return None
    moves, r = facts["realized_pct"], facts["r"]
    won = facts["outcome"] == Outcome.WIN
    wins = moves[won]
    gained, lost = float(moves[moves > 0].sum()), -float(moves[moves < 0].sum())
    record = TrackRecord(
        scope="ticker" if sample.symbol else "family",
        family=sample.family,
        symbol=sample.symbol,
        **_outcomes(facts),
        median_win_pct=percent(np.median(wins)) if len(wins) else None,
        avg_trade_pct=percent(moves.mean()),
        avg_r=multiple(r.mean()),
        expected_r=multiple(expected_r(r) if expected is None else expected),
        profit_factor=multiple(gained / lost) if lost else None,
        avg_hold_bars=round(float(facts["hold_bars"].mean()), 1),
        backtest_range=[sample.start, sample.end],
        detector=sample.detector,
        method_version=METHOD,
        **_lift(facts, sample.verdict()),
        avg_r_after_costs=AfterCosts(
            bp_10=multiple(after_costs(facts, 10)), bp_25=multiple(after_costs(facts, 25))
        ),
        by_direction=_sides(sample),
        measured=_measured(sample, placebo),
        summary="",
    )
    return record.model_copy(update={"summary": _summary(sample, record)})


def side_record(sample: Sample, direction: Direction) -> SideRecord | None:
    """The record of one direction of a sample; None if it has no trade."""
    facts = sample.side(direction)
    if not len(facts):
        return None
    return SideRecord(
        **{name: value for name, value in _outcomes(facts).items() if name != "losses"},
        avg_r=multiple(facts["r"].mean()),
        expected_r=multiple(expected_r(facts["r"], sample.priors.get(direction, 0.0))),
        **_lift(facts, sample.verdict(direction)),
    )


def _sides(sample: Sample) -> Sides | None:
    if not sample.family.both_ways:
        return None
    return Sides(bullish=side_record(sample, "bullish"), bearish=side_record(sample, "bearish"))


def _outcomes(facts: Rows) -> dict[str, Any]:
    won = facts["outcome"] == Outcome.WIN
    # A delisted trade is no win, but it may have gained.
    moves = facts["realized_pct"]
    gains, losses = moves[won], moves[facts["outcome"] == Outcome.LOSS]
    interval = intervals.wilson(len(gains), len(facts))
    return {
        "sample_size": len(facts),
        "wins": len(gains),
        "losses": len(facts) - len(gains),
        "win_rate_pct": percent(100 * float(won.mean())),
        "win_rate_ci95": [percent(100 * share) for share in interval],
        "avg_win_pct": percent(gains.mean()) if len(gains) else None,
        "avg_loss_pct": percent(losses.mean()) if len(losses) else None,
    }


def _lift(facts: Rows, tested: Tested) -> dict[str, Any]:
    # The error of a few trades is itself so uncertain that it may look like a finding.
    lift = Lift.of(facts, errors=tested.verdict != "too_few")
    if lift is None:
        names = ("placebo_win_rate_pct", "placebo_avg_r", "lift_r", "lift_r_se")
        return {"compared": 0, **dict.fromkeys(names), "verdict": tested.verdict}
    error = lift.difference.error
    return {
        "compared": lift.compared,
        "placebo_win_rate_pct": percent(lift.placebo_pct.mean),
        "placebo_avg_r": multiple(lift.placebo_r.mean),
        "lift_r": multiple(lift.difference.mean),
        "lift_r_se": None if error is None else multiple(error),
        "verdict": tested.verdict,
    }


def _measured(sample: Sample, placebo: Placebo) -> str:
    text = (
        "First attempt per formation, entry at the close of the breakout bar, stop and target "
        "frozen at entry, stop first when both are hit in one bar, open trades, costs and slippage "
        "excluded"
    )
    if not placebo:
        return f"{text}."
    whose = f"{sample.family.label.lower()} family's" if sample.symbol else "same"
    both = sample.family.both_ways
    found = [
        f"in {lift.placebo_pct.mean:.1f}%{f' of {way} entries' if both else ''}, average "
        f"{lift.placebo_r.mean:+.3f} R"
        for way, lift in placebo.items()
    ]
    stops = f"the {whose} stops and targets at random dates reached the target"
    return f"{text}; {stops} {', and '.join(found)}."


def _summary(sample: Sample, record: TrackRecord) -> str:
    where = f" on {sample.symbol}" if sample.symbol else ""
    trades = "trade" if record.sample_size == 1 else "trades"
    none = "no stop hit" if record.losses else "no loss"
    loss = none if record.avg_loss_pct is None else f"average loss {record.avg_loss_pct:.2f}%"
    if record.avg_win_pct is None:
        moves = f"no win, {loss}"
    else:
        moves = (
            f"average win +{record.avg_win_pct:.2f}%, {loss}, "
            f"median win +{record.median_win_pct:.2f}%"
        )
    return (
        f"{sample.family.label}{where}: {record.sample_size} resolved {trades} from {sample.start} "
        f"to {sample.end}; {record.win_rate_pct:.2f}% reached the target; {moves}."
    )
