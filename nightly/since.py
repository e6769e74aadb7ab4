"""Since: what became of one symbol's setups since the last night, and of the trades it served.

A setup is known from night to night by its symbol, lineage and attempt. Redrawn lines of the same
one are no change.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from nightly.events import EndReason
from nightly.followed import Known, Part, resolved, same_terms
from nightly.formations import Formation
from store.ledger.served import (
    FollowedTrade,
    ServedOutcome,
    ServedSetup,
    SettledTrade,
    Terms,
    TradeKey,
)
from store.wire.records import Change, ChangeKind, ChangeReason, ExitReason

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
class Earlier:
    """What the last night served of a symbol, and the trades of it that were followed."""

    session: dt.date
    """The session of that night."""
    setups: Sequence[ServedSetup] = ()
    followed: Sequence[FollowedTrade] = ()
    settled: Sequence[SettledTrade] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Tonight:
    """What tonight's bars say of a symbol: nothing, if the source lacks it."""

    formations: Sequence[Formation] = ()
    parts: Sequence[Part] = ()
    """Its series, oldest first."""
    covered: bool = False
    delisted: bool = False


@dataclass(frozen=True, slots=True)
class Since:
    """The changes of a symbol since the last night, and its trades as they were served."""

    changes: list[Change] = field(default_factory=list)
    outcomes: list[ServedOutcome] = field(default_factory=list)
    followed: list[FollowedTrade] = field(default_factory=list)
    """Still open, and not served tonight."""
    settled: list[SettledTrade] = field(default_factory=list)
    frozen: dict[TradeKey, FollowedTrade] = field(default_factory=dict)
    """Trades as they were first served of which tonight's bars say other terms."""


def since(symbol: str, earlier: Earlier, tonight: Tonight) -> Since:
    """Compare what the last night served of a symbol with tonight."""
    comparison = _Comparison(symbol, earlier, tonight)
    comparison.compare()
    comparison.found.changes.sort(key=lambda change: (change.lineage_id, change.attempt))
    return comparison.found


class _Comparison:
    def __init__(self, symbol: str, earlier: Earlier, tonight: Tonight) -> None:
        self.found = Since()
        self._earlier = earlier
        self._tonight = tonight
        self._forming, self._running = (
            {_key(symbol, f): f for f in tonight.formations if f.status == status}
            for status in ("forming", "in_progress")
        )
        trades = [setup.trade() for setup in earlier.setups]
        formed = (s for s, trade in zip(earlier.setups, trades, strict=True) if not trade)
        self._formed = {setup.key: setup for setup in formed}
        self._ran = {trade.key: trade for trade in trades if trade}
        self._settled = {trade.key: trade for trade in earlier.settled}
        known = earlier.setups or earlier.followed
        self._log = Known.of(symbol, tonight.parts if known else ())

    def compare(self) -> None:
        """Look at every setup and trade of the last night, then at those that are new."""
        for setup in self._formed.values():
            self._was_forming(setup)
        for trade in self._ran.values():
            self._was_running(trade)
        for trade in self._earlier.followed:
            self._was_followed(trade)
        self._keep_settled()
        self._add_new()

    def _was_forming(self, setup: ServedSetup) -> None:
        key = setup.key
        if key in self._forming:
            return
        if key in self._running:
            self._triggered(key, self._running[key])
            return
        trade = self._log.trade(key, setup.last_session)
        if trade is None:
            self._change(setup, "expired", self._end_of(setup))
            return
        self._change(
            trade, "triggered", "breakout", trade.terms.entry_date, trade.terms.entry_price
        )
        if isinstance(trade, ServedOutcome):
            self._closed(trade)
        else:
            self.found.followed.append(trade)
            self._change(trade, "expired", self._why_gone(key))

    def _end_of(self, setup: ServedSetup) -> ChangeReason:
        ended = ENDS.get(self._log.end(setup.key, setup.last_session))
        if ended is not None:
            return ended
        if self._tonight.delisted:
            return "delisted"
        return "revised" if self._tonight.covered else "left_out"

    def _was_running(self, trade: FollowedTrade) -> None:
        key = trade.key
        if key in self._settled:
            if key not in self._running:
                self._change(trade, "expired", self._why_gone(key, settled=True))
            return
        now = self._resolve(trade)
        if now is None:
            return
        if key in self._running:
            self._freeze(now)
        else:
            self.found.followed.append(now)
            self._change(trade, "expired", self._why_gone(key))

    def _was_followed(self, trade: FollowedTrade) -> None:
        now = self._resolve(trade)
        if now is None:
            return
        if trade.key in self._running:
            self._freeze(now)
            if trade.key not in self._formed:
                self._new(trade.key, self._running[trade.key])
        else:
            self.found.followed.append(now)

    def _resolve(self, trade: FollowedTrade) -> FollowedTrade | None:
        """The trade if it is still open, after noting its outcome if it is not."""
        now = resolved(trade, self._tonight.parts, delisted=self._tonight.delisted)
        if isinstance(now, FollowedTrade):
            return now
        self.found.outcomes.append(now)
        self._closed(now)
        self.found.settled.append(SettledTrade.of(now))
        if now.key in self._running:
            self._new(now.key, self._running[now.key], "revised")
        elif now.key in self._forming and now.key in self._formed:
            self._new(now.key, self._forming[now.key], "revised")
        return None

    def _keep_settled(self) -> None:
        """Name earlier settled trades again that a night could still serve, now or later."""
        kept_from = self._earlier.session - dt.timedelta(days=SETTLED_DAYS)
        for key, trade in sorted(self._settled.items()):
            if trade.exit_date >= kept_from or key in self._running or key in self._forming:
                self.found.settled.append(trade)

    def _freeze(self, trade: FollowedTrade) -> None:
        formation = self._running[trade.key]
        same_type = trade.pattern_type == formation.fields["pattern_type"]
        if not (same_type and same_terms(trade.terms, _terms(formation))):
            self.found.frozen[trade.key] = trade

    def _why_gone(self, key: TradeKey, *, settled: bool = False) -> ChangeReason:
        """Why a running trade is not served although neither its stop nor its target was hit."""
        if not self._tonight.covered:
            return "left_out"
        return "revised" if settled or not self._log.is_open(key) else "too_old"

    def _add_new(self) -> None:
        for key, formation in self._forming.items():
            if key not in self._formed:
                self._new(key, formation)
        known = (
            self._formed.keys() | self._ran.keys() | {trade.key for trade in self._earlier.followed}
        )
        for key, formation in self._running.items():
            if key not in known:
                self._new(key, formation, "revised" if key in self._settled else "found")
                if _terms(formation).entry_date > self._earlier.session:
                    self._triggered(key, formation)

    def _new(self, key: TradeKey, formation: Formation, reason: ChangeReason = "found") -> None:
        self.found.changes.append(_change_of(key, formation, "new", reason))

    def _triggered(self, key: TradeKey, formation: Formation) -> None:
        terms = _terms(formation)
        entered = (terms.entry_date, terms.entry_price)
        self.found.changes.append(_change_of(key, formation, "triggered", "breakout", *entered))

    def _closed(self, trade: ServedOutcome) -> None:
        kind, reason = CLOSED[trade.exit_reason]
        self._change(trade, kind, reason, trade.exit_date, trade.exit_price, trade.r_multiple)

    def _change(
        self,
        of: ServedSetup | FollowedTrade | ServedOutcome,
        kind: ChangeKind,
        reason: ChangeReason,
        session: dt.date | None = None,
        at: float | None = None,
        r: float | None = None,
    ) -> None:
        change = Change(
            change=kind,
            reason=reason,
            symbol=of.symbol,
            family=of.family,
            family_label=of.family.label,
            pattern_type=of.pattern_type,
            direction=of.direction,
            lineage_id=of.lineage_id,
            setup_id=None,
            attempt=of.attempt,
            session=session,
            price=at,
            r_multiple=r,
        )
        self.found.changes.append(change)


def _key(symbol: str, formation: Formation) -> TradeKey:
    return TradeKey(symbol, formation.fields["lineage_id"], int(formation.evidence["attempt"]))


def _terms(formation: Formation) -> Terms:
    plan, evidence = formation.fields["plans"][0], formation.evidence
    return Terms(
        entry_date=dt.date.fromisoformat(str(evidence["entry_date"])),
        entry_price=float(evidence["entry_price"]),
        stop_price=plan.stop_price,
        target_price=plan.target_price,
    )


def _change_of(
    key: TradeKey,
    formation: Formation,
    kind: ChangeKind,
    reason: ChangeReason,
    session: dt.date | None = None,
    at: float | None = None,
) -> Change:
    fields = formation.fields
    return Change(
        change=kind,
        reason=reason,
        symbol=key.symbol,
        family=fields["family"],
        family_label=fields["family_label"],
        pattern_type=fields["pattern_type"],
        direction=fields["direction"],
        lineage_id=key.lineage_id,
        setup_id=fields["setup_id"],
        attempt=key.attempt,
        session=session,
        price=at,
        r_multiple=None,
    )
