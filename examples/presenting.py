"""Setups in words, by the five content rules: the only place where the examples phrase them.

1. Never a win rate without its sample size and the average loss: `win_rate` is one phrase.
2. Each `summary` is quoted whole: `summaries` hands it on untouched.
3. The `as_of_session` date and 5. the disclaimer stand together: `footing`.
4. Lines are given by their dated endpoints: `line`.
"""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


def money(price: float) -> str:
    """A price in dollars."""
    return f"${price:,.2f}" if price >= 1 else f"${price:.4g}"


def win_rate(record: Json | None) -> str:
    """A win rate with its sample size and average loss."""
    if record is None:
        return "no record yet"
    loss = record["avg_loss_pct"]
    losing = "no loss among them" if loss is None else f"average loss {loss:+.2f}%"
    trades = "1 trade" if record["sample_size"] == 1 else f"{record['sample_size']} trades"
    return f"{record['win_rate_pct']:.2f}% of {trades}, {losing}"


def line(points: Json) -> str:
    """A trend line, by its dated endpoints."""
    start, end = points["start"], points["end"]
    return (
        f"from {money(start['price'])} on {start['date']} to {money(end['price'])} on "
        f"{end['date']}, {points['touch_count']} touches (straight on a log price axis)"
    )


def plan(levels: Json) -> str:
    """A trade plan."""
    return (
        f"{levels['direction']}: trigger {money(levels['trigger_price'])}, "
        f"stop {money(levels['stop_price'])}, target {money(levels['target_price'])}"
    )


def title(setup: Json) -> str:
    """What a setup is, in one line."""
    status = setup["status"].replace("_", " ")
    return f"{setup['symbol']}: {setup['family_label']}, {setup['direction']}, {status}"


def facts(setup: Json) -> list[str]:
    """The facts of a setup, one per line."""
    lines = setup["lines"]
    return [
        f"Last close: {money(setup['last_close'])} on {setup['as_of_session']}",
        f"Trigger rule: {setup['trigger_rule']}",
        *(f"Plan, {plan(levels)}" for levels in setup["plans"]),
        f"Upper line: {line(lines['upper'])}",
        f"Lower line: {line(lines['lower'])}",
    ]


def records(setup: Json) -> list[Json]:
    """The track records of a setup: its family's and, if there is one, its ticker's."""
    both = (setup["track_record"]["family"], setup["track_record"]["ticker"])
    return [record for record in both if record is not None]


def summaries(setup: Json) -> list[str]:
    """The summary sentences of a setup's track records, whole."""
    return [record["summary"] for record in records(setup)]


def footing(body: Json) -> str:
    """Which session an answer describes, and the disclaimer."""
    return f"As of session {body['as_of_session']} ({body['source']}). {body['disclaimer']}"
