"""Transitions: what became of one symbol's setups since the last night, and of its served trades.

A setup is known from night to night by its symbol, lineage and attempt. Redrawn lines of the same
one are no change.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from screener.nightly.detector.events import EndReason
from screener.nightly.results.history import Lineages
from screener.nightly.results.open_trades import SetupLog, resolved, same_terms
from screener.nightly.results.setups import Formation
from store.ledger.served import (
    FollowedTrade,
    ServedLines,
    ServedOutcome,
    ServedSetup,
    SettledTrade,
    TradeKey,
)
from store.wire.records import (
    ChangeKind,
    ChangeReason,
    DrawnChange,
    ExitReason,
    PastLine,
    PastLines,
)
from store.wire.view import percent_of

ENDS: Final[Mapping[int, ChangeReason]] = {
    EndReason.MISSED: "missed",
    EndReason.INVALIDATED: "invalidated",
    EndReason.SUPERSEDED: "superseded",
    EndReason.APEX: "apex",
    EndReason.STALE: "stale",
    EndReason.TOO_LONG: "too_long",
    EndReason.DATA_GAP: "data_gap",
    EndReason.FADED: "faded",
}
CLOSED: Final[Mapping[ExitReason, tuple[ChangeKind, ChangeReason]]] = {
    "target": ("reached", "target"),
    "stop": ("stopped", "stop"),
    "delisted": ("expired", "delisted"),
}
SETTLED_DAYS: Final = 200
"""A settled trade is named for so many days after its exit. Its entry is then too many sessions ago
for a night to serve it again.
"""


@dataclass(frozen=True, slots=True)
class Previous:
    """What the last night served of a symbol, and the trades of it that were followed."""

    session: dt.date
    """The session of that night."""
    setups: Sequence[ServedSetup] = ()
    followed: Sequence[FollowedTrade] = ()
    settled: Sequence[SettledTrade] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Current:
    """What the night's bars say of a symbol: nothing, if the source lacks it."""

    formations: Sequence[Formation] = ()
    logs: Sequence[Lineages] = ()
    """Logs of its series, oldest first."""
    covered: bool = False
    delisted: bool = False


@dataclass(frozen=True, slots=True)
class SymbolFollowUp:
    """The changes of a symbol since the last night, and its trades as they were served."""

    changes: list[DrawnChange] = field(default_factory=list)
    outcomes: list[ServedOutcome] = field(default_factory=list)
    followed: list[FollowedTrade] = field(default_factory=list)
    """Still open, and not served by the night."""
    settled: list[SettledTrade] = field(default_factory=list)
    frozen: dict[TradeKey, FollowedTrade] = field(default_factory=dict)
    """Trades as they were first served of which the night's bars say other terms."""


def follow_up(previous: Previous, current: Current) -> SymbolFollowUp:
    """Compare what the last night served of a symbol with what its bars say now."""
    comparison = _Comparison(previous, current)
    comparison.compare()
    comparison.result.changes.sort(key=lambda change: (change.lineage_id, change.attempt))
    return comparison.result


def served_setup(
    formation: Formation, frozen: Mapping[TradeKey, FollowedTrade] = MappingProxyType({})
) -> ServedSetup:
    """The line of a setup that the night serves; `frozen` are trades that keep other terms."""
    setup, key = formation.setup, formation.key
    upper, lower = setup.lines.upper, setup.lines.lower
    entered = setup.entry_date is not None
    return ServedSetup(
        **key._asdict(),
        setup_id=setup.setup_id,
        family=setup.family,
        pattern_type=setup.pattern_type,
        direction=setup.direction,
        status=setup.status,
        last_session=setup.as_of_session,
        last_close=setup.last_close,
        lines=ServedLines(upper=[upper.start, upper.end], lower=[lower.start, lower.end]),
        plans=setup.plans,
        entry_date=setup.entry_date,
        entry_price=setup.entry_price,
        anchor=next(iter(upper.touches), None) if entered else None,
        frozen=frozen.get(key) if entered else None,
    )


class _Comparison:
    """Forms and runs are what the night serves; formed and ran are what the last one served."""

    def __init__(self, previous: Previous, current: Current) -> None:
        self.result = SymbolFollowUp()
        self._previous = previous
        self._current = current
        setups = [served_setup(formation) for formation in current.formations]
        self._forms = {setup.key: setup for setup in setups if not setup.trade()}
        self._runs = {setup.key: setup for setup in setups if setup.trade()}
        self._running = _trades(setups)
        self._formed = {setup.key: setup for setup in previous.setups if not setup.trade()}
        self._ran = _trades(previous.setups)
        self._drawn = {setup.key: _lines(setup.lines) for setup in previous.setups}
        self._settled = {trade.key: trade for trade in previous.settled}
        self._lost: ChangeReason = "revised" if current.covered else "left_out"
        known = previous.setups or previous.followed
        self._log = SetupLog.of(current.logs if known else ())

    def compare(self) -> None:
        """Look at every setup and trade of the last night, then at those that are new."""
        for setup in self._formed.values():
            self._was_forming(setup)
        for trade in self._ran.values():
            self._was_running(trade)
        for trade in self._previous.followed:
            self._was_followed(trade)
        self._keep_settled()
        self._add_new()

    def _was_forming(self, setup: ServedSetup) -> None:
        key = setup.key
        if key in self._forms:
            return
        if key in self._running:
            self._triggered(self._running[key], self._runs[key].setup_id)
        elif trade := self._log.trade(key, setup.last_session):
            self._triggered(trade)
            if isinstance(trade, ServedOutcome):
                self._closed(trade)
            else:
                self._follow(trade)
        else:
            close = self._log.last_close(key, setup.last_session, setup.last_close)
            now = setup.model_copy(update={"last_close": close})
            self._change(now, "expired", self._end_of(setup))

    def _was_running(self, trade: FollowedTrade) -> None:
        if trade.key in self._settled:
            if trade.key not in self._running:
                self._change(trade, "expired", self._lost)
        elif still := self._still_open(trade):
            if trade.key in self._running:
                self._freeze(still)
            else:
                self._follow(still)

    def _was_followed(self, trade: FollowedTrade) -> None:
        still = self._still_open(trade)
        if still and trade.key in self._running:
            self._freeze(still)
            if trade.key not in self._formed:
                self._new(self._runs[trade.key])
        elif still:
            self.result.followed.append(still)

    def _keep_settled(self) -> None:
        """Name earlier settled trades again that a night could still serve, now or later."""
        kept_from = self._previous.session - dt.timedelta(days=SETTLED_DAYS)
        for key, trade in sorted(self._settled.items()):
            if trade.exit_date >= kept_from or key in self._runs or key in self._forms:
                self.result.settled.append(trade)

    def _add_new(self) -> None:
        for key, setup in self._forms.items():
            if key not in self._formed:
                self._new(setup)
        followed = {trade.key for trade in self._previous.followed}
        for key, trade in self._running.items():
            if key not in self._formed.keys() | self._ran.keys() | followed:
                self._new(self._runs[key], "revised" if key in self._settled else "found")
                if trade.terms.entry_date > self._previous.session:
                    self._triggered(trade, self._runs[key].setup_id)

    def _still_open(self, trade: FollowedTrade) -> FollowedTrade | None:
        """The trade if it is still open, after noting its outcome if it is not."""
        now = resolved(trade, self._current.logs, delisted=self._current.delisted)
        if isinstance(now, FollowedTrade):
            return now
        self.result.outcomes.append(now)
        self._closed(now)
        self.result.settled.append(SettledTrade.of(now))
        if now.key in self._runs:
            self._new(self._runs[now.key], "revised")
        elif now.key in self._forms and now.key in self._formed:
            self._new(self._forms[now.key], "revised")
        return None

    def _freeze(self, trade: FollowedTrade) -> None:
        now = self._running[trade.key]
        if trade.pattern_type != now.pattern_type or not same_terms(trade.terms, now.terms):
            self.result.frozen[trade.key] = trade

    def _follow(self, trade: FollowedTrade) -> None:
        """Follow a trade that is not served although neither its stop nor its target was hit."""
        self.result.followed.append(trade)
        too_old = self._current.covered and self._log.is_open(trade.key)
        self._change(trade, "expired", "too_old" if too_old else self._lost)

    def _end_of(self, setup: ServedSetup) -> ChangeReason:
        """Why a forming setup is not served although it did not trigger."""
        ended = ENDS.get(self._log.end(setup.key, setup.last_session))
        return ended or ("delisted" if self._current.delisted else self._lost)

    def _new(self, setup: ServedSetup, reason: ChangeReason = "found") -> None:
        self._change(setup, "new", reason, setup_id=setup.setup_id)

    def _triggered(self, trade: FollowedTrade | ServedOutcome, setup_id: str | None = None) -> None:
        date, price = trade.terms.entry_date, trade.terms.entry_price
        self._change(trade, "triggered", "breakout", date, price, setup_id=setup_id)

    def _closed(self, trade: ServedOutcome) -> None:
        kind, reason = CLOSED[trade.exit_reason]
        self._change(trade, kind, reason, trade.exit_date, trade.exit_price, trade.r_multiple)

    def _change(
        self,
        of: ServedSetup | FollowedTrade | ServedOutcome,
        kind: ChangeKind,
        reason: ChangeReason,
        session: dt.date | None = None,
        price: float | None = None,
        r: float | None = None,
        setup_id: str | None = None,
    ) -> None:
        gone = setup_id is None
        change = DrawnChange(
            lines=(self._log.lines(of.key) or self._drawn.get(of.key)) if gone else None,
            crossed=self._log.last_bar(of.key) if reason == "invalidated" else None,
            change=kind,
            reason=reason,
            **of.key._asdict(),
            family=of.family,
            family_label=of.family.label,
            pattern_type=of.pattern_type,
            direction=of.direction,
            setup_id=setup_id,
            session=session,
            price=price,
            r_multiple=r,
        )
        self.result.changes.append(change.model_copy(update=_levels(of)))


def _lines(served: ServedLines) -> PastLines:
    """The lines of a setup as they were served last."""
    upper, lower = (PastLine(start=start, end=end) for start, end in (served.upper, served.lower))
    return PastLines(upper=upper, lower=lower)


def _levels(of: ServedSetup | FollowedTrade | ServedOutcome) -> dict[str, float | None]:
    """The levels of a setup, and where the last close is between them."""
    if isinstance(of, ServedSetup):
        if trade := of.trade():
            return _levels(trade)
        plan = of.plans[0]
        return {
            "last_close": of.last_close,
            "trigger_price": plan.trigger_price,
            "stop_price": plan.stop_price,
            "target_price": plan.target_price,
            "distance_to_trigger_pct": abs(percent_of(plan.trigger_price, of.last_close)),
        }
    levels = of.terms.model_dump(exclude={"entry_date"})
    if isinstance(of, ServedOutcome):
        return {**levels, "gain_pct": of.move_pct}
    move = percent_of(of.last_close, of.terms.entry_price)
    won = move if of.direction == "bullish" else 0.0 - move
    return {**levels, "last_close": of.last_close, "gain_pct": won}


def _trades(setups: Iterable[ServedSetup]) -> dict[TradeKey, FollowedTrade]:
    trades = (setup.trade() for setup in setups)
    return {trade.key: trade for trade in trades if trade}
