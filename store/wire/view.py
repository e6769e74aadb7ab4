"""Setup view: what anybody shows of a setup, made of its record by one pure function.

REST, tools, pages, pictures, the command line, sheets, filters and sorts read its fields; none of
them works a number out again. Per cents have two decimals and R multiples three, like all that is
served.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from store.wire.currency import DOLLARS
from store.wire.families import Direction, pattern_words

if TYPE_CHECKING:
    from store.wire.records import CloseSide, Status, Verdict

Scope: TypeAlias = Literal["ticker", "family"]
SCOPES: tuple[Scope, Scope] = ("ticker", "family")

Fields: TypeAlias = Mapping[str, Any]
"""The fields of a record, parsed."""

NOTHING: Fields = MappingProxyType({})

TICKER_SAMPLE = 20
"""With at least this many trades in a setup's direction the ticker's win rate is shown, else its
family's."""

EVIDENCE_SAMPLE = 5
"""With at least this many trades in the direction of a setup the ticker's record is evidence."""

NEAR_STOP = 0.25
"""The part of a trade's risk that is left, R, up to which no reward to risk is told of it."""


@dataclass(frozen=True, slots=True)
class PlanView:
    """A trade plan, in the currency of its setup."""

    direction: Direction
    trigger: float
    stop: float
    target: float
    entry: float | None
    """The close at which the trade began; None before, or in a night that did not keep it."""

    @classmethod
    def of(cls, plan: Fields, entry: float | None) -> PlanView:
        """The view of a Plan, of which a running trade has its entry."""
        trigger, stop, target = (plan[f"{name}_price"] for name in ("trigger", "stop", "target"))
        return cls(plan["direction"], trigger, stop, target, entry)

    @property
    def start(self) -> float:
        """What per cents and the reward to risk count from: the entry or, before, the trigger."""
        return self.trigger if self.entry is None else self.entry

    @property
    def start_name(self) -> str:
        """What the start is: `entry` or `trigger`."""
        return "trigger" if self.entry is None else "entry"

    @property
    def stop_pct(self) -> float:
        """The price move from the start to the stop, percent."""
        return percent_of(self.stop, self.start)

    @property
    def target_pct(self) -> float:
        """The price move from the start to the target, percent."""
        return percent_of(self.target, self.start)

    def distance_pct(self, last_close: float) -> float:
        """How far a last close is from the trigger, percent, without a sign."""
        return abs(percent_of(self.trigger, last_close))

    def passed(self, last_close: float) -> bool:
        """Whether a last close is already past the trigger."""
        above = self.direction == "bullish"
        return last_close > self.trigger if above else last_close < self.trigger

    def left(self, last_close: float) -> float | None:
        """The way from a last close to the target over that to the stop; None from `NEAR_STOP` on,
        where the ratio is large because the trade is nearly lost.
        """
        sign = 1 if self.direction == "bullish" else -1
        risk = sign * (last_close - self.stop)
        if risk <= NEAR_STOP * abs(self.start - self.stop):
            return None
        return round(sign * (self.target - last_close) / risk, 2)

    @property
    def reward_to_risk(self) -> float | None:
        """The way to the target over the way to the stop; None if there is no way to the stop."""
        risk = abs(self.start - self.stop)
        return round(abs(self.target - self.start) / risk, 2) if risk else None


@dataclass(frozen=True, slots=True)
class RecordView:
    """The record behind the win rate of a setup: of its ticker or its family, and of its own
    direction where the family is traded both ways.
    """

    scope: Scope
    sided: bool
    """Whether it is of one direction of a family that is traded both ways."""
    sample_size: int
    win_rate_pct: float
    win_rate_ci95: tuple[float, float] | None
    """None in nights sealed before directions had one, and so the average win."""
    avg_r: float
    avg_win_pct: float | None
    avg_loss_pct: float | None
    """Negative; None when no trade was lost."""
    placebo_win_rate_pct: float | None
    """How often random entries with the same stop and target distances reached the target."""
    verdict: Verdict | None
    summary: str | None
    """The record in a sentence; None of a direction in nights sealed before it had one."""

    @classmethod
    def of(cls, row: Fields, scope: Scope, direction: Direction) -> RecordView | None:
        """The record of a row's ticker or family in a direction; None without a trade."""
        whole = row["track_record"][scope] or {}
        record = _of_direction(whole, direction)
        if not record:
            return None
        interval = record.get("win_rate_ci95")
        return cls(
            scope=scope,
            sided=record is not whole,
            sample_size=record["sample_size"],
            win_rate_pct=record["win_rate_pct"],
            win_rate_ci95=interval and tuple(interval),
            avg_r=record["avg_r"],
            avg_win_pct=record.get("avg_win_pct"),
            avg_loss_pct=record["avg_loss_pct"],
            placebo_win_rate_pct=record.get("placebo_win_rate_pct"),
            verdict=record.get("verdict"),
            summary=record.get("summary"),
        )


@dataclass(frozen=True, slots=True)
class SetupView:
    """A current setup as everybody shows it."""

    symbol: str
    setup_id: str
    lineage_id: str
    family: str
    family_label: str
    pattern: str
    direction: Direction
    status: Status
    attempt: int | None
    attempts: int | None
    """How many its formation had; None in a night that did not count them, and so `attempt`."""
    pattern_start: str
    pattern_end: str
    as_of: str
    currency: str
    """Currency of all its prices; dollars in a night that was sealed without one."""
    last_close: float
    last_close_side: CloseSide | None
    trigger_rule: str
    plans: tuple[PlanView, ...]
    entry_date: str | None
    sessions_running: int | None
    gain_pct: float | None
    """Open P/L, percent of the entry price, positive in the trade's favour."""
    gain_r: float | None
    """Open P/L as a multiple of the risk."""
    distance_pct: float | None
    """While forming: the move from the last close to the trigger, percent, signed."""
    record: RecordView | None
    """The record that its win rate is of."""
    own: RecordView | None
    """The record of its ticker in its direction; None without a trade."""
    expected_r: float | None
    """Expected R of the ticker, shrunk towards the family's, in the direction of the setup."""
    expected_r_scope: str | None
    """The trades behind it: of the `ticker` or the `family`, in the direction of the setup."""
    expected_r_trades: int | None
    placebo_avg_r: float | None
    """Average R of the random entries of the family, in the direction of the setup."""
    rank: int
    """1 has the largest typical gain of the night."""
    typical_gain_pct: float | None
    """If the trade wins."""
    quality_pct: float | None
    """The chance that two chart readers accept its drawing; None in a night that did not tell."""
    opposite: SetupView | None = None
    """The setup by its second plan, where it may break out either way."""

    @classmethod
    def of(cls, row: Fields, evidence: Fields = NOTHING) -> SetupView:
        """The view of a ScanSetup. A night sealed before rows had entries keeps them, if at all, in
        the evidence beside the setup.
        """
        entry_price, entry_date = (
            row.get(name, evidence.get(name)) for name in ("entry_price", "entry_date")
        )
        plans = tuple(PlanView.of(plan, entry_price) for plan in row["plans"])
        attempt = row.get("attempt") or {}
        gain_pct, gain_r = gain(plans[0], row["last_close"])
        view = cls(
            **{name: row[name] for name in SAME},
            pattern=pattern_words(row),
            attempt=attempt.get("number"),
            attempts=attempt.get("count"),
            as_of=row["as_of_session"],
            currency=row.get("currency", DOLLARS),
            last_close_side=row.get("last_close_side"),
            plans=plans,
            entry_date=entry_date,
            sessions_running=row.get("sessions_since_trigger"),
            gain_pct=gain_pct,
            gain_r=gain_r,
            distance_pct=_distance(row, plans[0]) if row["status"] == "forming" else None,
            **_records(row, row["direction"]),
            typical_gain_pct=row["expected_gain_pct"],
            quality_pct=row.get("quality_pct"),
        )
        others = [
            replace(view.by(plan), **_records(row, plan.direction), typical_gain_pct=None)
            for plan in plans[1:]
        ]
        return replace(view, opposite=others[0]) if others else view

    @property
    def plan(self) -> PlanView:
        """The plan of the direction in which the setup is traded."""
        return self.plans[0]

    @property
    def sides(self) -> tuple[SetupView, ...]:
        """The setup by each of its plans: where it may break out either way it is shown twice."""
        return (self.by(self.plan), self.opposite) if self.opposite else (self,)

    def by(self, plan: PlanView) -> SetupView:
        """The setup by one of its plans, as if that was the only one."""
        if self.plans == (plan,):
            return self
        move = percent_of(plan.trigger, self.last_close)
        side: CloseSide = "beyond" if plan.passed(self.last_close) else "before"
        return replace(
            self,
            direction=plan.direction,
            plans=(plan,),
            opposite=None,
            distance_pct=None if self.distance_pct is None else move,
            last_close_side=self.last_close_side and side,
        )

    @property
    def nearest(self) -> PlanView:
        """The plan whose trigger is nearest to the last close; once it runs, the one it runs by."""
        if self.status != "forming":
            return self.plan
        return min(self.plans, key=lambda plan: plan.distance_pct(self.last_close))

    def toward(self, direction: str | None) -> PlanView:
        """The plan of a direction; the nearest where none is asked for, or it has none."""
        return next((plan for plan in self.plans if plan.direction == direction), self.nearest)

    @property
    def left(self) -> float | None:
        """Reward to risk from the last close of a running trade; None before."""
        return self.plan.left(self.last_close) if self.status != "forming" else None

    @property
    def reward_to_risk(self) -> float | None:
        """As rows are sorted: of a forming setup from the trigger, of a trade what is left."""
        return self.plan.reward_to_risk if self.status == "forming" else self.left

    @property
    def entry_price(self) -> float | None:
        """The close at which its trade began; None before, or if the night did not keep it."""
        return self.plan.entry

    @property
    def directions(self) -> str:
        """The directions of all plans: a symmetrical triangle may break out either way."""
        return " or ".join(dict.fromkeys(plan.direction for plan in self.plans))

    @property
    def verdict(self) -> Verdict | None:
        """What its record says beside random entries; None if the night did not test it."""
        return self.record.verdict if self.record else None


def fresh_first(views: Iterable[SetupView]) -> list[SetupView]:
    """Setups as people read them: forming ones, then running trades, those that triggered last
    first.
    """
    return sorted(views, key=lambda view: (view.status != "forming", view.sessions_running or 0))


SAME = (
    *("symbol", "setup_id", "lineage_id", "family", "family_label", "direction", "status"),
    *("pattern_start", "pattern_end", "last_close", "trigger_rule", "rank"),
)
"""Fields of a row that a view has under the same name."""


def percent_of(price: float, start: float) -> float:
    """The price move from one price to another, percent."""
    return round(100 * (price / start - 1), 2) + 0.0


def gain(plan: PlanView, last_close: float) -> tuple[float | None, float | None]:
    """What a running trade has gained so far, in percent of its entry and in R; None before."""
    if plan.entry is None:
        return None, None
    won = (last_close - plan.entry) * (1 if plan.direction == "bullish" else -1)
    risk = abs(plan.entry - plan.stop)
    return round(100 * won / plan.entry, 2) + 0.0, round(won / risk, 3) + 0.0 if risk else None


def _distance(row: Fields, plan: PlanView) -> float:
    return math.copysign(row["distance_to_trigger_pct"], plan.trigger - row["last_close"])


def _of_direction(record: Fields, direction: str) -> Fields:
    """A record, or its part of one direction if its family is traded both ways."""
    sides = record.get("by_direction")
    return (sides[direction] or NOTHING) if sides else record


def _records(row: Fields, direction: Direction) -> dict[str, Any]:
    """The records of a row in the direction of a plan: that of its own is the one whose win rate it
    serves. Expected R stands with what it is of, and what random entries did; that of a ticker
    without a trade in this direction is its family's.
    """
    ticker, whole = (row["track_record"][scope] for scope in ("ticker", "family"))
    family = _of_direction(whole or NOTHING, direction)
    sample = _of_direction(ticker, direction) if ticker else family
    own, other = (RecordView.of(row, scope, direction) for scope in SCOPES)
    if direction == row["direction"]:
        served = (row["win_rate_trades"], row["win_rate_pct"])
        known = [one for one in (own, other) if one]
        shown = next((r for r in known if (r.sample_size, r.win_rate_pct) == served), None)
        expected = ticker or family
    else:
        shown = own if own and own.sample_size >= TICKER_SAMPLE else other
        expected = sample or family
    has_own = ticker is not None and bool(sample.get("sample_size"))
    return {
        "record": shown,
        "own": own,
        "expected_r": expected.get("expected_r"),
        "expected_r_scope": ("ticker" if has_own else "family") if expected else None,
        "expected_r_trades": (sample if has_own else family).get("sample_size", 0)
        if expected
        else None,
        "placebo_avg_r": family.get("placebo_avg_r"),
    }
