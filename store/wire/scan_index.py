"""Scan index: the setups of a night in short, as lists of many tickers and agents read them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import orjson

from store.wire.currency import DOLLARS
from store.wire.view import EVIDENCE_SAMPLE, PlanView, RecordView, SetupView

Numbers = npt.NDArray[np.float64]
"""One number a row, in the order of rank; NaN where there is none."""


def brief(view: SetupView) -> dict[str, Any]:
    """A setup in short: which it is, and how it stands: the distance to its trigger, on which side,
    or the gain of its trade.
    """
    return {
        "setup_id": view.setup_id,
        "family": view.family,
        "direction": view.direction,
        "status": view.status,
        "attempt": view.attempt,
        "quality_pct": view.quality_pct,
        "distance_to_trigger_pct": view.plan.distance_pct(view.last_close)
        if view.distance_pct is None
        else abs(view.distance_pct),
        "last_close_side": view.last_close_side,
        **_running(view, ("gain_pct", "gain_r")),
    }


def compact(
    view: SetupView, others: Sequence[SetupView] = (), *, with_own: bool = False
) -> dict[str, Any]:
    """A row of the scan in short. `others` are the other attempts of its formation; `with_own` adds
    the record of its ticker.
    """
    record = view.record
    second = view.opposite and {
        **_of_plan(view.opposite, with_own),
        **opposite(view)["opposite_plan"],
    }
    return {
        "rank": view.rank,
        "symbol": view.symbol,
        **brief(view),
        **_running(view, ("entry_price", "entry_date")),
        **({} if view.currency == DOLLARS else {"currency": view.currency}),
        "last_close": view.last_close,
        **_of_plan(view, with_own),
        **({"record_summary": record.summary} if record and record.sided else {}),
        **({"opposite_plan": second} if second else {}),
        **({"other_attempts": [each.setup_id for each in others]} if others else {}),
    }


def _of_plan(view: SetupView, with_own: bool) -> dict[str, Any]:
    """What a row says of one plan. Its win rate stands with whose it is, its sample and the average
    loss; what trades are expected to bring stands before what a winning one does.
    """
    plan, record, own = view.plan, view.record, view.own
    of_ticker = {
        "ticker_win_rate_pct": own and own.win_rate_pct,
        "ticker_avg_r": own and own.avg_r,
        "ticker_trades": own.sample_size if own else 0,
        "ticker_avg_loss_pct": own and own.avg_loss_pct,
    }
    return {
        **levels(plan),
        "reward_to_risk": plan.reward_to_risk,
        **({} if view.status == "forming" else {"reward_to_risk_left": view.left}),
        "expected_r": view.expected_r,
        "expected_r_scope": view.expected_r_scope,
        "expected_r_trades": view.expected_r_trades,
        "placebo_avg_r": view.placebo_avg_r,
        "placebo_scope": None if view.placebo_avg_r is None else "family",
        "verdict": view.verdict,
        "expected_gain_pct": view.typical_gain_pct,
        "target_move_pct": abs(plan.target_pct),
        "win_rate_scope": record and record.scope,
        "win_rate_pct": record and record.win_rate_pct,
        "win_rate_trades": record and record.sample_size,
        "avg_loss_pct": record and record.avg_loss_pct,
        **(of_ticker if with_own else {}),
    }


def near_trigger(view: SetupView, direction: str | None = None) -> dict[str, Any]:
    """A forming setup by its nearer trigger, or that of a direction, and beside it the other plan,
    if it has one: what an evening's list shows of it.
    """
    plan = view.toward(direction)
    others = [each for each in view.plans if each != plan]
    return {
        "symbol": view.symbol,
        **brief(view.by(plan)),
        **({} if view.currency == DOLLARS else {"currency": view.currency}),
        "last_close": view.last_close,
        **_level_and_way(view, plan),
        **({"opposite_plan": _level_and_way(view, others[0])} if others else {}),
    }


def levels(plan: PlanView) -> dict[str, Any]:
    """The fields of a Plan."""
    return {
        "direction": plan.direction,
        "trigger_price": plan.trigger,
        "stop_price": plan.stop,
        "target_price": plan.target,
    }


def opposite(view: SetupView) -> dict[str, Any]:
    """The second plan of a setup that may break out either way; nothing of any other."""
    if view.opposite is None:
        return {}
    return {"opposite_plan": _level_and_way(view, view.opposite.plan)}


def _level_and_way(view: SetupView, plan: PlanView) -> dict[str, Any]:
    return {**levels(plan), "distance_to_trigger_pct": plan.distance_pct(view.last_close)}


def _running(view: SetupView, names: Iterable[str]) -> dict[str, Any]:
    """Fields that running setups alone have."""
    return {} if view.status == "forming" else {name: getattr(view, name) for name in names}


class ScanIndex(NamedTuple):
    """The views of all setups of a night, and what lists and the scan read of them."""

    rows: Sequence[SetupView]
    """In the order of rank."""
    by_id: Mapping[str, SetupView]
    by_symbol: Mapping[str, bytes]
    """The briefs of each symbol that has a setup, in the order of rank, as items of a JSON list."""
    counts: Mapping[str, int]
    """The setups of each of these symbols."""
    formations: Mapping[str, Sequence[SetupView]]
    """The attempts of each formation that form or run, by lineage id, the first attempt first."""
    columns: Mapping[str, Numbers]
    """What the scan filters and sorts by and shows, beside the sealed evidence."""

    @classmethod
    def of(cls, views: Iterable[SetupView]) -> ScanIndex:
        """The briefs of a scan, from its views in the order of rank."""
        rows = tuple(views)
        parts: dict[str, list[bytes]] = {}
        formations: dict[str, list[SetupView]] = {}
        for view in rows:
            parts.setdefault(view.symbol, []).append(orjson.dumps(brief(view) | opposite(view)))
            formations.setdefault(view.lineage_id, []).append(view)
        for attempts in formations.values():
            attempts.sort(key=lambda view: view.attempt or 1)
        columns = {name: [number(view) for view in rows] for name, number in NUMBERS.items()}
        for name, number in OF_A_PLAN.items():
            columns[f"{OPPOSITE}{name}"] = [
                number(view.opposite) if view.opposite and view.status == "forming" else None
                for view in rows
            ]
        columns["symbol"] = _places([view.symbol for view in rows])
        columns["pattern"] = _places([view.pattern for view in rows])
        return cls(
            rows=rows,
            by_id={view.setup_id: view for view in rows},
            by_symbol={symbol: b",".join(briefs) for symbol, briefs in parts.items()},
            counts={symbol: len(briefs) for symbol, briefs in parts.items()},
            formations=formations,
            columns={name: np.array(column, np.float64) for name, column in columns.items()},
        )

    def others(self, view: SetupView) -> list[SetupView]:
        """The other attempts of a setup's formation that form or run."""
        return [each for each in self.formations[view.lineage_id] if each is not view]


def _places(texts: Sequence[str]) -> list[float | None]:
    """The place of each text in the order of the alphabet, equal texts sharing one."""
    places = {text: float(place) for place, text in enumerate(sorted(set(texts)))}
    return [places[text] for text in texts]


ARMED_PCT: Final = 1.0
"""Percent: a forming setup is armed if its trigger is within this distance or within one ATR."""

CLOSE: Final = 2.0
"""Percent from the last close to a trigger that is near."""


def is_near(view: SetupView) -> bool:
    """Whether a setup is forming and its nearer trigger is near."""
    return view.status == "forming" and view.nearest.distance_pct(view.last_close) <= CLOSE


def _nearness(view: SetupView) -> float:
    """The place of a setup in an evening's list: near its trigger, farther away, triggered (the
    newest first), each by quality.
    """
    lacking = 100 - (view.quality_pct or 0.0)
    if view.status != "forming":
        return 3000.0 + 1000 * (view.sessions_running or 0) + lacking
    return lacking if is_near(view) else 1000 + lacking


NUMBERS: Mapping[str, Callable[[SetupView], float | None]] = {
    "reward_to_risk": lambda view: view.reward_to_risk,
    "min_rr": lambda view: view.plan.reward_to_risk,
    "gain": lambda view: view.gain_pct,
    "gain_r": lambda view: view.gain_r,
    "quality": lambda view: view.quality_pct,
    "win_rate": lambda view: view.record.win_rate_pct if view.record else None,
    "sample": lambda view: view.record.sample_size if view.record else None,
    "distance": lambda view: None if view.distance_pct is None else abs(view.distance_pct),
    "sessions": lambda view: view.sessions_running,
    "close": lambda view: view.last_close,
    "start": lambda view: view.plan.start,
    "stop_way": lambda view: abs(view.plan.stop_pct),
    "target_way": lambda view: abs(view.plan.target_pct),
    "nearness": _nearness,
}
"""The columns that are numbers of a view."""


def _evident(view: SetupView) -> RecordView | None:
    return view.own if view.own and view.own.sample_size >= EVIDENCE_SAMPLE else None


OPPOSITE: Final = "opposite_"
"""What the name of a column begins with that counts the second plan of a forming setup."""

OF_A_PLAN: Mapping[str, Callable[[SetupView], float | None]] = {
    **{
        name: NUMBERS[name]
        for name in (
            *("distance", "reward_to_risk", "min_rr", "win_rate", "sample"),
            *("start", "stop_way", "target_way"),
        )
    },
    "dist_to_entry": NUMBERS["distance"],
    "target_move": NUMBERS["target_way"],
    "min_win_rate": lambda view: own.win_rate_pct if (own := _evident(view)) else None,
    "min_avg_r": lambda view: own.avg_r if (own := _evident(view)) else None,
    "min_expected_r": lambda view: view.expected_r,
    "typical_return": lambda view: view.typical_gain_pct,
}
"""The columns that count one plan, or the record of its direction; of the first plan some are
sealed.
"""
