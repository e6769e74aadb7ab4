"""Track records: the results of the resolved first attempts of a family, or of one ticker in it.

Every win rate comes with its sample size, its losses and the placebo: how often the same stops and
targets at random dates reached the target.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nightly.events import Outcome, Rows
from nightly.numbers import multiple, percent
from nightly.parameters import Parameters
from store.families import Family
from store.records import TrackRecord

SHRINKAGE = 60
"""Weight of the prior in trades. Predicting later R from earlier R improves up to about here."""

R_CLIP = (-3.0, 10.0)
"""Bounds for one trade's R, used only in `expected_r`, so that one outlier cannot dominate it."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The trades that one track record covers."""

    family: Family
    symbol: str | None
    facts: Rows
    start: dt.date
    end: dt.date
    detector: int = Parameters().detector
    """The version of the detector that drew the patterns."""

    @property
    def resolved(self) -> Rows:
        """The resolved trades."""
        over: Rows = self.facts[self.facts["outcome"] != Outcome.OPEN]
        return over


def reached_pct(facts: Rows) -> float | None:
    """The percentage of the trades' placebo draws that reached the target; None without draws."""
    draws = int(facts["draws"].sum())
    return 100 * int(facts["drawn_wins"].sum()) / draws if draws else None


def expected_r(r: npt.NDArray[np.float64], prior: float = 0.0) -> float:
    """The mean R shrunk towards a prior: 0 for a family, the family's value for a ticker."""
    total = float(np.clip(r, *R_CLIP).sum())
    return (total + SHRINKAGE * prior) / (len(r) + SHRINKAGE)


def track_record(
    sample: Sample, placebo_pct: float | None, prior_r: float = 0.0
) -> TrackRecord | None:
    """The record of a sample with its family's placebo; None if it has no resolved trade."""
    facts = sample.resolved
    if not len(facts):
        return None
    moves, r = facts["realized_pct"], facts["r"]
    won = facts["outcome"] == Outcome.WIN
    wins = moves[won]
    # A delisted trade is no win, but it may have gained.
    losses = moves[facts["outcome"] == Outcome.LOSS]
    gained, lost = float(moves[moves > 0].sum()), -float(moves[moves < 0].sum())
    record = TrackRecord(
        scope="ticker" if sample.symbol else "family",
        family=sample.family,
        symbol=sample.symbol,
        win_rate_pct=percent(100 * len(wins) / len(facts)),
        sample_size=len(facts),
        wins=len(wins),
        losses=int(np.count_nonzero(~won)),
        avg_win_pct=percent(wins.mean()) if len(wins) else None,
        avg_loss_pct=percent(losses.mean()) if len(losses) else None,
        median_win_pct=percent(np.median(wins)) if len(wins) else None,
        avg_trade_pct=percent(moves.mean()),
        avg_r=multiple(r.mean()),
        expected_r=multiple(expected_r(r, prior_r)),
        profit_factor=multiple(gained / lost) if lost else None,
        avg_hold_bars=round(float(facts["hold_bars"].mean()), 1),
        backtest_range=[sample.start, sample.end],
        detector=sample.detector,
        measured=_measured(sample, placebo_pct),
        summary="",
    )
    return record.model_copy(update={"summary": _summary(sample, record)})


def _measured(sample: Sample, placebo_pct: float | None) -> str:
    text = (
        "First attempt per formation, entry at the close of the breakout bar, stop and target "
        "frozen at entry, stop first when both are hit in one bar, open trades, costs and slippage "
        "excluded"
    )
    if placebo_pct is None:
        return f"{text}."
    whose = f"{sample.family.label.lower()} family's" if sample.symbol else "same"
    stops = f"the {whose} stops and targets at random dates reached the target"
    return f"{text}; {stops} in {placebo_pct:.1f}%."


def _summary(sample: Sample, record: TrackRecord) -> str:
    where = f" on {sample.symbol}" if sample.symbol else ""
    trades = "trade" if record.sample_size == 1 else "trades"
    loss = "no loss" if record.avg_loss_pct is None else f"average loss {record.avg_loss_pct:.2f}%"
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
