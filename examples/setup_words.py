"""Setups in words, by the five content rules: the only place where the examples phrase them.

1. Never a win rate without its sample size and the average loss: `win_rate` is one phrase.
2. Each `summary` is quoted whole: `summaries` hands it on untouched.
3. The `as_of_session` date and 5. the disclaimer stand together: `footing`.
4. Lines are given by their dated endpoints: `line`.
"""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


def money(price: float, setup: Json) -> str:
    """A price of a setup, in its currency."""
    currency = setup.get("currency", "USD")
    sign = "$" if currency == "USD" else f"{currency} "
    return f"{sign}{price:,.2f}" if price >= 1 else f"{sign}{price:.4g}"


def win_rate(record: Json | None) -> str:
    """A win rate with its sample size and average loss."""
    if record is None:
        return "no record yet"
    loss = record["avg_loss_pct"]
    losing = "no loss among them" if loss is None else f"average loss {loss:+.2f}%"
    trades = "1 trade" if record["sample_size"] == 1 else f"{record['sample_size']} trades"
    return f"{record['win_rate_pct']:.2f}% of {trades}, {losing}"


def line(points: Json, setup: Json) -> str:
    """A trend line, by its dated endpoints."""
    start, end = points["start"], points["end"]
    return (
        f"from {money(start['price'], setup)} on {start['date']} to "
        f"{money(end['price'], setup)} on {end['date']}, {points['touch_count']} touches "
        "(straight on a log price axis)"
    )


def plan(levels: Json, setup: Json) -> str:
    """A trade plan."""
    return (
        f"{levels['direction']}: trigger {money(levels['trigger_price'], setup)}, "
        f"stop {money(levels['stop_price'], setup)}, "
        f"target {money(levels['target_price'], setup)}"
    )


def title(setup: Json) -> str:
    """What a setup is, in one line."""
    return f"{setup['symbol']}: {setup['family_label']}, {setup['direction']}, {status(setup)}"


def status(setup: Json) -> str:
    """Whether a setup is forming or triggered, as pages name it."""
    return "forming" if setup["status"] == "forming" else "triggered"


def facts(setup: Json) -> list[str]:
    """The facts of a setup, one per line."""
    lines = setup["lines"]
    return [
        f"Last close: {money(setup['last_close'], setup)} on {setup['as_of_session']}",
        f"Trigger rule: {setup['trigger_rule']}",
        *(f"Plan, {plan(levels, setup)}" for levels in setup["plans"]),
        f"Upper line: {line(lines['upper'], setup)}",
        f"Lower line: {line(lines['lower'], setup)}",
    ]


def records(setup: Json) -> list[Json]:
    """The track records of a setup: its family's and, if there is one, its ticker's."""
    both = (setup["track_record"]["family"], setup["track_record"]["ticker"])
    return [record for record in both if record is not None]


def side(record: Json | None, direction: str) -> Json | None:
    """A record, or its part of one direction in a family that is traded both ways."""
    sides = record and record.get("by_direction")
    found: Json | None = sides[direction] if sides else record
    return found


def summaries(setup: Json) -> list[str]:
    """The summary sentences of a setup's track records, whole; for a triangle, of its direction."""
    sides = (side(record, setup["direction"]) for record in records(setup))
    both = zip(records(setup), sides, strict=True)
    return [(one and one.get("summary")) or record["summary"] for record, one in both]


def footing(body: Json) -> str:
    """Which session an answer describes, whether it is old, and the disclaimer."""
    old = (
        "This night is old: a later session has ended. " if body.get("is_current") is False else ""
    )
    return f"As of session {body['as_of_session']} ({body['source']}). {old}{body['disclaimer']}"
