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

Fields: TypeAlias = Mapping[str, Any]
"""The fields of a record, parsed."""

NOTHING: Fields = MappingProxyType({})


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
        """The way from a last close to the target over that to the stop; None beyond the stop."""
        sign = 1 if self.direction == "bullish" else -1
        risk = sign * (last_close - self.stop)
        return round(sign * (self.target - last_close) / risk, 2) if risk > 0 else None

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

    scope: Literal["ticker", "family"]
    sided: bool
    """Whether it is of one direction of a family that is traded both ways."""
    sample_size: int
    win_rate_pct: float
    win_rate_ci95: tuple[float, float] | None
    """None in nights sealed before directions had one, and so the average win."""
    avg_win_pct: float | None
    avg_loss_pct: float | None
    """Negative; None when no trade was lost."""
    placebo_win_rate_pct: float | None
    """How often random entries with the same stops and targets reached the target."""
    verdict: Verdict | None
    summary: str | None
    """The record in a sentence; None of a direction in nights sealed before it had one."""

    @classmethod
    def of(cls, row: Fields) -> RecordView | None:
        """The record of a row of the scan; None without one, or without its average loss."""
        served = (row["win_rate_trades"], row["win_rate_pct"])
        records = filter(None, (cls.of_scope(row, "ticker"), cls.of_scope(row, "family")))
        found = (one for one in records if (one.sample_size, one.win_rate_pct) == served)
        return next(found, None)

    @classmethod
    def of_scope(cls, row: Fields, scope: Literal["ticker", "family"]) -> RecordView | None:
        """The record of its ticker or of its family; None without a trade."""
        whole = row["track_record"][scope] or {}
        record = _of_direction(whole, row["direction"])
        if not record.get("sample_size"):
            return None
        interval = record.get("win_rate_ci95")
        return cls(
            scope=scope,
            sided=record is not whole,
            sample_size=record["sample_size"],
            win_rate_pct=record["win_rate_pct"],
            win_rate_ci95=interval and tuple(interval),
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
    own: RecordView | None
    """The record of its ticker, however few trades that has."""
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
        return cls(
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
            record=RecordView.of(row),
            own=RecordView.of_scope(row, "ticker"),
            **_expected(row),
            typical_gain_pct=row["expected_gain_pct"],
            quality_pct=row.get("quality_pct"),
        )

    @property
    def plan(self) -> PlanView:
        """The plan of the direction in which the setup is traded."""
        return self.plans[0]

    @property
    def sides(self) -> tuple[SetupView, ...]:
        """The setup by each of its plans: where it may break out either way it is shown twice. Only
        that of the first plan has a record.
        """
        if len(self.plans) == 1:
            return (self,)
        first, *others = (self._side(plan) for plan in self.plans)
        none = ("record", "own", "expected_r", "typical_gain_pct")
        bare: dict[str, Any] = dict.fromkeys(none)
        return (first, *(replace(one, **bare) for one in others))

    def _side(self, plan: PlanView) -> SetupView:
        move = percent_of(plan.trigger, self.last_close)
        side: CloseSide = "beyond" if plan.passed(self.last_close) else "before"
        return replace(
            self,
            direction=plan.direction,
            plans=(plan,),
            distance_pct=None if self.distance_pct is None else move,
            last_close_side=self.last_close_side and side,
        )

    @property
    def nearest(self) -> PlanView:
        """The plan whose trigger is nearest to the last close; once it runs, the one it runs by."""
        if self.status != "forming":
            return self.plan
        return min(self.plans, key=lambda plan: plan.distance_pct(self.last_close))

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


def _expected(row: Fields) -> dict[str, Any]:
    """Expected R with what it is of, and what random entries did. That of the ticker is of the
    setup's direction; without a trade it is the family's.
    """
    ticker, whole = (row["track_record"][scope] for scope in ("ticker", "family"))
    family = _of_direction(whole or NOTHING, row["direction"])
    record = ticker or family
    sample = _of_direction(ticker, row["direction"]) if ticker else family
    return {
        "expected_r": record.get("expected_r"),
        "expected_r_scope": ("ticker" if ticker else "family") if record else None,
        "expected_r_trades": sample.get("sample_size", 0) if record else None,
        "placebo_avg_r": family.get("placebo_avg_r"),
    }
