"""Served: the lines of a ledger object, which tell what one night served and what became of it.

A trade is *followed* from the night that served it as running until its stop or target is hit as
they were served, whether later nights still serve it or not.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, TypeAdapter

from store.wire.families import Direction, Family
from store.wire.records import (
    Change,
    Count,
    ExitReason,
    Number,
    PatternType,
    Percent,
    Plan,
    Price,
    PricePoint,
    Record,
    Status,
    Symbol,
)

SUM_DIGITS = 6
"""Decimals of a sum; its terms have three at most, so that adding them again gives the same."""

Id = Annotated[str, Field(pattern=r"^[a-z2-7]{1,32}$")]
Ends = Annotated[list[PricePoint], Field(min_length=2, max_length=2)]
AttemptNumber = Annotated[int, Field(ge=1)]


class TradeKey(NamedTuple):
    """What a setup is known by from night to night."""

    symbol: str
    lineage_id: str
    attempt: int


class Keyed(Record):
    """A line about one setup."""

    symbol: Symbol
    lineage_id: Id
    attempt: AttemptNumber

    @property
    def key(self) -> TradeKey:
        """What the setup is known by."""
        return TradeKey(self.symbol, self.lineage_id, self.attempt)


class Terms(Record):
    """Entry, stop and target of a trade, as they were served first."""

    entry_date: dt.date
    entry_price: Price
    stop_price: Price
    target_price: Price


class ServedLines(Record):
    """Both trend lines by their dated ends."""

    upper: Ends
    lower: Ends


class FollowedTrade(Keyed):
    """A trade that a night served as running and that is not resolved yet."""

    record: Literal["followed"] = "followed"
    family: Family
    pattern_type: PatternType
    direction: Direction
    terms: Terms
    last_session: dt.date
    """The day of the last bar up to which the trade is known to be open."""
    last_close: Price
    """The close of that bar; another one later may tell that prices were rescaled."""
    anchor: PricePoint | None = None
    """The high of a day of the pattern. It tells a new scale from one corrected close."""


class ServedSetup(Keyed):
    """A setup as a night served it."""

    record: Literal["setup"] = "setup"
    setup_id: Id
    family: Family
    pattern_type: PatternType
    direction: Direction
    status: Status
    last_session: dt.date
    last_close: Price
    lines: ServedLines
    plans: Annotated[list[Plan], Field(min_length=1, max_length=2)]
    entry_date: dt.date | None = None
    entry_price: Price | None = None
    anchor: PricePoint | None = None
    """The high of a day of the pattern, for an open trade."""
    frozen: FollowedTrade | None = None
    """The trade as it was first served, if bars revised since give other terms."""

    def trade(self) -> FollowedTrade | None:
        """The running trade as it was first served; None while the setup is forming."""
        if self.entry_date is None or self.entry_price is None:
            return None
        if self.frozen is not None:
            return self.frozen.model_copy(update={"anchor": self.anchor})
        plan = self.plans[0]
        served = Terms(
            entry_date=self.entry_date,
            entry_price=self.entry_price,
            stop_price=plan.stop_price,
            target_price=plan.target_price,
        )
        return FollowedTrade(
            **self.key._asdict(),
            family=self.family,
            pattern_type=self.pattern_type,
            direction=plan.direction,
            terms=served,
            last_session=self.last_session,
            last_close=self.last_close,
            anchor=self.anchor,
        )


class ServedOutcome(Keyed):
    """A trade that was resolved since the earlier night, by its stop and target as served."""

    record: Literal["outcome"] = "outcome"
    family: Family
    pattern_type: PatternType
    direction: Direction
    terms: Terms
    exit_reason: ExitReason
    exit_date: dt.date
    exit_price: Price
    move_pct: Percent
    r_multiple: Number


class SettledTrade(Keyed):
    """A trade that was resolved as served.

    It is named so that no later night resolves it again, even if revised bars say that it runs.
    """

    record: Literal["settled"] = "settled"
    exit_date: dt.date

    @classmethod
    def of(cls, outcome: ServedOutcome) -> SettledTrade:
        """The name of a trade that was resolved tonight."""
        return cls(**outcome.key._asdict(), exit_date=outcome.exit_date)


class ServedChange(Change):
    """A change since the earlier night."""

    record: Literal["change"] = "change"


Line = ServedSetup | FollowedTrade | ServedOutcome | SettledTrade | ServedChange

LINE: TypeAdapter[Line] = TypeAdapter(Annotated[Line, Field(discriminator="record")])


class Totals(Record):
    """Sums over the resolved first attempts of a family, as they were served."""

    trades: Count = 0
    wins: Count = 0
    losses: Count = 0
    """All that did not reach the target, the delisted ones too."""
    delisted: Count = 0
    win_pct: Number = 0.0
    """Sum over the wins, percent of the entry price."""
    loss_pct: Number = 0.0
    """Sum over the trades that were stopped; a delisted trade may have gained."""
    r: Number = 0.0

    def plus(self, outcomes: Iterable[ServedOutcome]) -> Totals:
        """The sums with more trades."""
        added = list(outcomes)
        moves = {
            reason: [o.move_pct for o in added if o.exit_reason == reason]
            for reason in ("target", "stop", "delisted")
        }
        won = len(moves["target"])
        return Totals(
            trades=self.trades + len(added),
            wins=self.wins + won,
            losses=self.losses + len(added) - won,
            delisted=self.delisted + len(moves["delisted"]),
            win_pct=_sum(self.win_pct, moves["target"]),
            loss_pct=_sum(self.loss_pct, moves["stop"]),
            r=_sum(self.r, [o.r_multiple for o in added]),
        )


class Tally(Record):
    """The totals of every family, from the first night of the path to an object on."""

    first_session: dt.date
    families: dict[Family, Totals]

    @classmethod
    def begun(cls, session: dt.date) -> Tally:
        """The tally of a first night."""
        return cls(first_session=session, families={family: Totals() for family in Family})

    def plus(self, outcomes: Iterable[ServedOutcome]) -> Tally:
        """The tally with the first attempts among more outcomes that were entered after its begin.

        A trade that ran already on the first night was served because it had lasted, and trades
        that last are not like the others.
        """
        first = [
            outcome
            for outcome in outcomes
            if outcome.attempt == 1 and outcome.terms.entry_date > self.first_session
        ]
        families = {
            family: self.families.get(family, Totals()).plus(o for o in first if o.family == family)
            for family in Family
        }
        return Tally(first_session=self.first_session, families=families)


def line_of(fields: Mapping[str, Any]) -> Line:
    """A line from its JSON values.

    Raises:
        pydantic.ValidationError: it is no line.
    """
    return LINE.validate_python(fields, strict=False)


def _sum(before: float, added: list[float]) -> float:
    return round(math.fsum([before, *added]), SUM_DIGITS) + 0.0
