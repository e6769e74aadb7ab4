"""Trigger rules: the sentence that says what fires a setup, or what has fired it."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence

from nightly.events import Rows
from nightly.numbers import percent
from store.wire.records import CloseSide, Plan
from store.wire.words import dollars


def forming_rule(version: Rows, plans: Sequence[Plan], session: dt.date, last_close: float) -> str:
    """What fires a forming setup in a session, and where the last close stands."""
    sides = [_side(version, plan) for plan in plans]
    levels = [
        f"{dollars(plan.trigger_price)} and moves {move}% a day"
        for plan, (_, move) in zip(plans, sides, strict=True)
    ]
    if len(plans) == 1:
        rule = f"A daily close {sides[0][0]}; the level for {session} is {levels[0]}."
    else:
        rule = (
            f"A daily close {sides[0][0]} or {sides[1][0]}; for {session} the first level is "
            f"{levels[0]}, the second is {levels[1]}."
        )
    return f"{rule} The last close, {dollars(last_close)}, is {_standing(plans, last_close)}."


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
    move = percent(100 * (math.exp(float(version[f"{side}_slope"])) - 1))
    return f"{beyond} the {side} line", f"{move:+.2f}"


def running_rule(plan: Plan, entry: dt.date, entry_price: float, attempt: int) -> str:
    """What fired a running trade."""
    beyond = "above the upper" if plan.direction == "bullish" else "below the lower"
    again = f" This is attempt {attempt} of the formation." if attempt > 1 else ""
    return (
        f"A daily close {beyond} line fired on {entry} at {dollars(entry_price)}; the line stood "
        f"at {dollars(plan.trigger_price)}, and stop and target are frozen.{again}"
    )
