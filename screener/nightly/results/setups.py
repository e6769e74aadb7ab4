"""Setups: the current patterns of one symbol, in the form in which they are served.

A forming setup is a live version; a running setup is an open trade. Plans of forming setups are for
the next session, because the lines move, and with them trigger, stop and target.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from screener.nightly.bars import Bars, to_date
from screener.nightly.detector.detector import last_atr, line_values, plan_of, touches_of
from screener.nightly.detector.events import EndReason, EventLog, Outcome, PatternType, Rows
from screener.nightly.detector.parameters import Parameters
from screener.nightly.results.features import ranges
from screener.nightly.results.history import Lineages, target_move_pct
from screener.nightly.results.views import (
    TradeView,
    direction_name,
    family_of_type,
    line_ends,
    pattern_start,
    percent,
    price,
    quality_pct,
    type_name,
)
from store.ledger.served import TradeKey
from store.wire.currency import money
from store.wire.records import (
    Attempt,
    CloseSide,
    Line,
    Lines,
    Plan,
    PricePoint,
    Setup,
    TrackRecords,
)
from store.wire.scan_index import ARMED_PCT
from store.wire.view import PlanView, gain

RUNNING_SESSIONS: Final = 120
"""A trade that has run for more sessions than this is no longer served as a setup."""

NO_RECORDS: Final = TrackRecords(family=None, ticker=None)

Evidence = Mapping[str, float | int | str]


@dataclass(frozen=True, slots=True)
class Formation:
    """One current setup, and what its rank, the filters and the charts need."""

    setup: Setup
    """Without its track records, which need all symbols."""
    key: TradeKey
    phase: str
    quality: float
    distance_pct: float
    target_move_pct: float
    pre_pattern_move_pct: float
    atr_pct: float
    evidence: Evidence
    """The score and its parts, the entry of a running trade, and base and tip of a pennant's pole;
    stored beside the setup."""


@dataclass(frozen=True, slots=True, eq=False)
class CurrentSetups:
    """The forming versions and the running trades of a symbol's newest series on a night."""

    lineages: Lineages
    as_of: dt.date
    next_session: dt.date
    parameters: Parameters
    """Those of the walk, so that touches and plans are what it saw."""
    running_sessions: int
    currency: str

    def formations(self) -> list[Formation]:
        """Forming setups first, then by descending quality.

        Every attempt of a lineage that still runs is served, but none that runs for too many
        sessions.
        """
        forming = np.flatnonzero(self._log.versions["end_reason"] == EndReason.FORMING)
        oldest = self._last - self.running_sessions
        running = [trade for trade in running_trades(self._log) if trade["entry"] >= oldest]
        found = [self._forming(int(row)) for row in forming]
        found += [self._running(trade) for trade in running]
        return sorted(found, key=lambda one: (one.setup.status != "forming", -one.quality))

    @property
    def _bars(self) -> Bars:
        return self.lineages.bars

    @property
    def _log(self) -> EventLog:
        return self.lineages.log

    @property
    def _last(self) -> int:
        return len(self._bars) - 1

    @property
    def _close(self) -> float:
        return float(self._bars.close[-1])

    def _forming(self, row: int) -> Formation:
        version, atr = self._log.versions[row], last_atr(self._bars, self.parameters)
        sign = int(version["direction"])
        # A symmetrical triangle may trigger on either side.
        both = version["type"] == PatternType.SYMMETRICAL_TRIANGLE
        plans = [self._plan(version, atr, side) for side in ((sign, -sign) if both else (sign,))]
        distance = percent(100 * abs(plans[0].trigger_price / self._close - 1))
        close = price(self._close)
        rule = forming_rule(version, plans, self.next_session, close, self.currency)
        # The ATR of the scan's filters, in percent of the last close, as the distance is.
        armed = distance <= max(ARMED_PCT, ranges(self._bars)["atr"])
        setup = self._setup(row, self._last, plans, rule, side=side_of(plans, close))
        return self._formation(row, setup, self._last, "armed" if armed else "forming", distance)

    def _plan(self, version: Rows, atr: float, sign: int) -> Plan:
        trigger, stop, target = plan_of(version, atr, sign, len(self._bars), self.parameters)
        return Plan(
            direction=direction_name(sign),
            trigger_price=price(math.exp(trigger)),
            stop_price=price(math.exp(stop)),
            target_price=price(math.exp(target)),
        )

    def _running(self, trade: Rows) -> Formation:
        row, entry, sign = (int(trade[name]) for name in ("version", "entry", "direction"))
        version, view = self._log.versions[row], TradeView.over(self._bars, trade)
        upper, lower = line_values(version, entry)
        plan = Plan(
            direction=view.direction,
            trigger_price=price(math.exp(upper if sign > 0 else lower)),
            stop_price=view.stop_price,
            target_price=view.target_price,
        )
        entry_price = float(trade["entry_price"])
        attempt = int(version["attempt"])
        rule = running_rule(plan, view.entry_date, entry_price, attempt, self.currency)
        setup = self._setup(row, entry - 1, [plan], rule, trade=view)
        distance = percent(100 * abs(entry_price / self._close - 1))
        return self._formation(row, setup, entry - 1, "confirmed", distance)

    def _setup(
        self,
        row: int,
        end: int,
        plans: list[Plan],
        rule: str,
        *,
        side: CloseSide | None = None,
        trade: TradeView | None = None,
    ) -> Setup:
        """The record of a version whose pattern ends at a bar, with its trade if it has one."""
        version, close = self._log.versions[row], price(self._close)
        lineage, attempt = int(version["lineage"]), int(version["attempt"])
        family = family_of_type(int(version["type"]))
        entry_price = trade.entry_price if trade else None
        gain_pct, gain_r = gain(PlanView.of(plans[0].model_dump(), entry_price), close)
        return Setup(
            setup_id=self.lineages.setup_id(row, lineage, attempt, self._last, self.as_of),
            lineage_id=self.lineages.id(lineage),
            symbol=self.lineages.symbol,
            interval="D",
            family=family,
            family_label=family.label,
            pattern_type=type_name(int(version["type"])),
            direction=plans[0].direction,
            status="in_progress" if trade else "forming",
            pattern_start=to_date(self._bars.date[pattern_start(version)]),
            pattern_end=to_date(self._bars.date[end]),
            as_of_session=self.as_of,
            last_close=close,
            price_scale="log",
            lines=self._lines(version, end),
            trigger_rule=rule,
            plans=plans,
            track_record=NO_RECORDS,
            attempt=Attempt(number=attempt, count=self.lineages.attempts(lineage)),
            sessions_since_trigger=self._last - end - 1 if trade else None,
            last_close_side=side,
            entry_price=entry_price,
            currency=self.currency,
            entry_date=trade.entry_date if trade else None,
            gain_pct=gain_pct,
            gain_r=gain_r,
            quality_pct=quality_pct(version),
        )

    def _formation(
        self, row: int, setup: Setup, end: int, phase: str, distance: float
    ) -> Formation:
        version = self._log.versions[row]
        sign = 1 if setup.direction == "bullish" else -1
        return Formation(
            setup=setup,
            key=TradeKey(self.lineages.symbol, setup.lineage_id, int(version["attempt"])),
            phase=phase,
            quality=float(version["quality"]),
            distance_pct=distance,
            target_move_pct=target_move_pct(float(version["height"]), sign),
            pre_pattern_move_pct=percent(100 * (math.exp(float(version["approach"])) - 1)),
            atr_pct=100 * last_atr(self._bars, self.parameters),
            evidence={
                **score_of(self._bars, version, end),
                **pole_points(self._bars, version, self.parameters),
                **entry_of(setup),
                **({} if setup.entry_date else {"trigger_session": f"{self.next_session}"}),
            },
        )

    def _lines(self, version: Rows, end: int) -> Lines:
        found = touches_of(self._bars, version, end, self.parameters)
        upper, lower = (self._line(version, side, end, at) for side, at in enumerate(found))
        return Lines(upper=upper, lower=lower)

    def _line(self, version: Rows, side: int, end: int, at: Iterable[int]) -> Line:
        days, swings = self._bars.date, (self._bars.high, self._bars.low)[side]
        touches = [PricePoint(date=to_date(days[bar]), price=price(swings[bar])) for bar in at]
        ends = line_ends(self._bars, version, side, end)
        return Line(**ends, touch_count=len(touches), touches=touches)


def running_trades(log: EventLog) -> Rows:
    """The open trades, oldest entry first."""
    trades: Rows = log.trades[log.trades["outcome"] == Outcome.OPEN]
    return trades


def score_of(bars: Bars, version: Rows, end: int) -> Evidence:
    """The score of a version with its parts, as they are at the bar `end`."""
    upper, lower = line_values(version, end)
    return {
        "quality": round(float(version["quality"]), 2),
        "upper_touches": int(version["upper_touches"]),
        "lower_touches": int(version["lower_touches"]),
        "crossings": int(version["crossings"]),
        "progress": round(1 - (upper - lower) / float(version["width"]), 4),
        "height_pct": percent(100 * float(version["height"])),
        "attempt": int(version["attempt"]),
        "served_since": to_date(bars.date[version["first_served"]]).isoformat(),
    }


def entry_of(setup: Setup) -> Evidence:
    """The entry of a running trade; empty before."""
    if setup.entry_date is None or setup.entry_price is None:
        return {}
    return {"entry_date": setup.entry_date.isoformat(), "entry_price": setup.entry_price}


def pole_points(bars: Bars, version: Rows, parameters: Parameters) -> Evidence:
    """Base and tip of the pole of a squeeze version; empty for every other type.

    The tip is the extreme near the first touch. The base is the first bar before it, among those in
    which a pole may begin, whose distance from the tip is the height that the walk measured.
    """
    ends = {
        PatternType.BULLISH_SQUEEZE: (bars.low, bars.high),
        PatternType.BEARISH_SQUEEZE: (bars.high, bars.low),
    }.get(PatternType(int(version["type"])))
    if ends is None:
        return {}
    begins, tips = ends
    start = pattern_start(version)
    near = slice(max(0, start - parameters.tip_bars), start + parameters.tip_bars + 1)
    highest = np.argmax(tips[near]) if tips is bars.high else np.argmin(tips[near])
    tip = near.start + int(highest)
    first = max(0, tip - parameters.pole_bars)
    heights = np.abs(np.log(tips[tip] / begins[first:tip]))
    bases = first + np.flatnonzero(np.isclose(heights, version["height"], rtol=0, atol=1e-9))
    if not len(bases):
        return {}
    return {
        "pole_start_date": to_date(bars.date[bases[0]]).isoformat(),
        "pole_start_price": price(float(begins[bases[0]])),
        "pole_tip_date": to_date(bars.date[tip]).isoformat(),
        "pole_tip_price": price(float(tips[tip])),
    }


def forming_rule(
    version: Rows, plans: Sequence[Plan], session: dt.date, last_close: float, currency: str
) -> str:
    """What fires a forming setup in a session, and where the last close stands."""
    sides = [_side(version, plan) for plan in plans]
    levels = [
        f"{money(plan.trigger_price, currency)} and {move}"
        for plan, (_, move) in zip(plans, sides, strict=True)
    ]
    if len(plans) == 1:
        rule = f"A daily close {sides[0][0]}; the level for {session} is {levels[0]}."
    else:
        rule = (
            f"A daily close {sides[0][0]} or {sides[1][0]}; for {session} the first level is "
            f"{levels[0]}, the second is {levels[1]}."
        )
    close = money(last_close, currency)
    return f"{rule} The last close, {close}, is {_standing(plans, last_close)}."


def side_of(plans: Sequence[Plan], last_close: float) -> CloseSide:
    """Whether the last close is beyond a trigger already."""
    return "beyond" if any(_beyond(plan, last_close) for plan in plans) else "before"


def _beyond(plan: Plan, last_close: float) -> bool:
    above = last_close > plan.trigger_price
    return above if plan.direction == "bullish" else last_close < plan.trigger_price


def _standing(plans: Sequence[Plan], last_close: float) -> str:
    """Where the last close stands, as the levels move and a close may be beyond the next one."""
    names = ("it",) if len(plans) == 1 else ("the first level", "the second level")
    for plan, name in zip(plans, names, strict=True):
        if _beyond(plan, last_close):
            where = "above" if plan.direction == "bullish" else "below"
            return f"already {where} {name}, so a close that stays there fires"
    if len(plans) > 1:
        return "between the two"
    return "below it" if plans[0].direction == "bullish" else "above it"


def _side(version: Rows, plan: Plan) -> tuple[str, str]:
    side = "upper" if plan.direction == "bullish" else "lower"
    beyond = "above" if side == "upper" else "below"
    slope = float(version[f"{side}_slope"])
    move = f"moves {percent(100 * (math.exp(slope) - 1)):+.2f}% a day" if slope else "stays there"
    return f"{beyond} the {side} line", move


def running_rule(
    plan: Plan, entry: dt.date, entry_price: float, attempt: int, currency: str
) -> str:
    """What fired a running trade."""
    beyond = "above the upper" if plan.direction == "bullish" else "below the lower"
    again = f" This is attempt {attempt} of the formation." if attempt > 1 else ""
    return (
        f"A daily close {beyond} line fired on {entry} at "
        f"{money(entry_price, currency)}; the line stood "
        f"at {money(plan.trigger_price, currency)}, and stop and target are frozen.{again}"
    )
