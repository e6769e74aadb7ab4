"""Formations: the current setups of one symbol, in the form in which they are served.

A forming setup is a live version; a running setup is an open trade. Plans of forming setups are for
the next session, because the lines move, and with them trigger, stop and target.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from nightly.bars import Bars, to_date
from nightly.detector import DEFAULTS, Parameters, last_atr, line_values, plan_of, touches_of
from nightly.events import EndReason, EventLog, Outcome, Rows
from nightly.history import Lineages, target_move_pct
from nightly.numbers import percent, price
from nightly.patterns import (
    FAMILIES,
    direction_name,
    family_index,
    is_symmetrical,
    type_name,
)
from nightly.setup_evidence import pole_points, score_of
from nightly.trigger_rules import forming_rule, running_rule, side_of
from store.wire.families import Direction, Family
from store.wire.records import Attempt, CloseSide, Line, Lines, Plan, PricePoint, Status
from store.wire.view import PlanView, gain

ARMED_PCT = 1.0
"""A forming setup is armed if its trigger is within this distance or within one ATR."""


RUNNING_SESSIONS = 120
"""A trade that has run for more sessions than this is no longer served as a setup."""


@dataclass(frozen=True, slots=True)
class Formation:
    """One current setup, complete except for its track records."""

    fields: Mapping[str, Any]
    """The fields of `Setup`, without `track_record`."""
    symbol: str
    family: Family
    status: Status
    phase: str
    quality: float
    distance_pct: float
    target_move_pct: float
    pre_pattern_move_pct: float
    atr_pct: float
    evidence: Mapping[str, float | int | str]
    """The score and its parts, the entry of a running trade, and base and tip of a pennant's pole;
    stored beside the setup."""

    @property
    def direction(self) -> Direction:
        """The direction in which the setup is traded, of its first plan."""
        direction: Direction = self.fields["direction"]
        return direction

    @property
    def drawn_from(self) -> dt.date:
        """The session on which its pattern begins, or the pole before that."""
        start: dt.date = self.fields["pattern_start"]
        pole = self.evidence.get("pole_start_date")
        return start if pole is None else dt.date.fromisoformat(str(pole))

    @property
    def order(self) -> tuple[bool, float]:
        """The sort key on a ticker: forming setups first, then by descending quality."""
        return self.status != "forming", -self.quality


@dataclass(frozen=True, slots=True)
class Market:
    """A symbol with the session that its setups describe and the next session."""

    symbol: str
    as_of: dt.date
    next_session: dt.date
    parameters: Parameters = DEFAULTS
    """Those of the walk, so that touches and plans are what it saw."""
    running_sessions: int = RUNNING_SESSIONS


@dataclass(frozen=True, slots=True)
class _Name:
    """The ids of a setup and its lineage in the session, and which attempt it is."""

    setup: str
    lineage: str
    attempt: Attempt

    @classmethod
    def of(cls, log: EventLog, row: int, bars: Bars, lineages: Lineages, market: Market) -> _Name:
        number, attempt = (int(log.versions[row][name]) for name in ("lineage", "attempt"))
        setup = lineages.setup_id(row, number, attempt, len(bars) - 1, market.as_of)
        attempts = Attempt(number=attempt, count=lineages.served_attempts(number))
        return cls(setup, lineages.id(number), attempts)


def current_formations(
    bars: Bars, log: EventLog, lineages: Lineages, market: Market
) -> list[Formation]:
    """The forming versions and running trades of a series, in serving order.

    Every attempt of a lineage that still runs is served, but none that runs for too many sessions.
    """
    oldest = len(bars) - 1 - market.running_sessions
    live = np.flatnonzero(log.versions["end_reason"] == EndReason.FORMING)
    forming = [
        _forming(bars, log.versions[row], _Name.of(log, int(row), bars, lineages, market), market)
        for row in live
    ]
    running = [
        _running(
            bars,
            log.versions[trade["version"]],
            trade,
            _Name.of(log, int(trade["version"]), bars, lineages, market),
            market,
        )
        for trade in running_trades(log)
        if trade["entry"] >= oldest
    ]
    return sorted(forming + running, key=lambda formation: formation.order)


def running_trades(log: EventLog) -> Rows:
    """The open trades, oldest entry first."""
    trades: Rows = log.trades[log.trades["outcome"] == Outcome.OPEN]
    return trades


def _forming(bars: Bars, version: Rows, name: _Name, market: Market) -> Formation:
    last = len(bars) - 1
    atr_pct = 100 * last_atr(bars)
    sign = int(version["direction"])
    signs = (sign, -sign) if is_symmetrical(int(version["type"])) else (sign,)
    plans = [_plan(version, last_atr(bars), side, last + 1) for side in signs]
    distance = 100 * abs(plans[0].trigger_price / float(bars.close[-1]) - 1)
    armed = distance <= max(ARMED_PCT, atr_pct)
    return _formation(
        bars,
        version,
        name,
        market,
        end=last,
        plans=plans,
        status="forming",
        phase="armed" if armed else "forming",
        rule=forming_rule(version, plans, market.next_session, price(float(bars.close[-1]))),
        side=side_of(plans, price(float(bars.close[-1]))),
        distance=distance,
        atr_pct=atr_pct,
    )


def _running(bars: Bars, version: Rows, trade: Rows, name: _Name, market: Market) -> Formation:
    entry, sign = int(trade["entry"]), int(trade["direction"])
    upper, lower = line_values(version, entry)
    level = math.exp(upper if sign > 0 else lower)
    plan = Plan(
        direction=direction_name(sign),
        trigger_price=price(level),
        stop_price=price(float(trade["stop_price"])),
        target_price=price(float(trade["target_price"])),
    )
    entry_date, entry_price = to_date(bars.date[entry]), float(trade["entry_price"])
    entered: dict[str, float | str] = {
        "entry_date": entry_date.isoformat(),
        "entry_price": price(entry_price),
    }
    view = PlanView.of(plan.model_dump(), price(entry_price))
    gain_pct, gain_r = gain(view, price(float(bars.close[-1])))
    return _formation(
        bars,
        version,
        name,
        market,
        end=entry - 1,
        plans=[plan],
        status="in_progress",
        phase="confirmed",
        rule=running_rule(plan, entry_date, entry_price, int(version["attempt"])),
        running=len(bars) - 1 - entry,
        entry=entered,
        gained={"gain_pct": gain_pct, "gain_r": gain_r},
        distance=100 * abs(entry_price / float(bars.close[-1]) - 1),
        atr_pct=100 * last_atr(bars),
    )


def _formation(
    bars: Bars,
    version: Rows,
    name: _Name,
    market: Market,
    *,
    end: int,
    plans: Sequence[Plan],
    status: Status,
    phase: str,
    rule: str,
    distance: float,
    atr_pct: float,
    side: CloseSide | None = None,
    running: int | None = None,
    entry: Mapping[str, float | str] = MappingProxyType({}),
    gained: Mapping[str, float | None] = MappingProxyType({}),
) -> Formation:
    family = FAMILIES[family_index(int(version["type"]))]
    plan = plans[0]
    sign = 1 if plan.direction == "bullish" else -1
    start = min(int(version["upper_start"]), int(version["lower_start"]))
    fields = {
        "setup_id": name.setup,
        "lineage_id": name.lineage,
        "symbol": market.symbol,
        "interval": "D",
        "family": family,
        "family_label": family.label,
        "pattern_type": type_name(int(version["type"])),
        "direction": plan.direction,
        "status": status,
        "pattern_start": to_date(bars.date[start]),
        "pattern_end": to_date(bars.date[end]),
        "as_of_session": market.as_of,
        "last_close": price(float(bars.close[-1])),
        "price_scale": "log",
        "lines": _lines(bars, version, end, market.parameters),
        "trigger_rule": rule,
        "plans": list(plans),
        "attempt": name.attempt,
        "sessions_since_trigger": running,
        "last_close_side": side,
        **entry,
        **gained,
    }
    return Formation(
        fields=fields,
        symbol=market.symbol,
        family=family,
        status=status,
        phase=phase,
        quality=float(version["quality"]),
        distance_pct=percent(distance),
        target_move_pct=target_move_pct(float(version["height"]), sign),
        pre_pattern_move_pct=percent(100 * (math.exp(float(version["approach"])) - 1)),
        atr_pct=atr_pct,
        evidence={
            **score_of(bars, version, end),
            **pole_points(bars, version, market.parameters),
            **entry,
        },
    )


def _plan(version: Rows, atr: float, sign: int, bar: int) -> Plan:
    trigger, stop, target = plan_of(version, atr, sign, bar)
    return Plan(
        direction=direction_name(sign),
        trigger_price=price(math.exp(trigger)),
        stop_price=price(math.exp(stop)),
        target_price=price(math.exp(target)),
    )


def _lines(bars: Bars, version: Rows, end: int, parameters: Parameters) -> Lines:
    touches = touches_of(bars, version, end, parameters)
    swings = (bars.high, bars.low)
    upper, lower = (
        _line(bars, version, side, end, [(int(bar), float(swing[bar])) for bar in touched])
        for side, (swing, touched) in enumerate(zip(swings, touches, strict=True))
    )
    return Lines(upper=upper, lower=lower)


def _line(
    bars: Bars, version: Rows, side: int, end: int, touches: Sequence[tuple[int, float]]
) -> Line:
    start = int(version[("upper_start", "lower_start")[side]])
    return Line(
        start=_point(bars, start, math.exp(line_values(version, start)[side])),
        end=_point(bars, end, math.exp(line_values(version, end)[side])),
        touch_count=len(touches),
        touches=[_point(bars, bar, swing) for bar, swing in touches],
    )


def _point(bars: Bars, bar: int, value: float) -> PricePoint:
    return PricePoint(date=to_date(bars.date[bar]), price=price(value))
