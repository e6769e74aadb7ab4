"""The content rules, checked on answers: what each needs stands in what was returned."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Answer:
    """What one call returned."""

    text: str
    """What a model reads."""
    body: Any
    """The JSON; None for a picture or a refusal."""
    refused: bool
    pictures: int = 0


def missing(answers: Sequence[Answer], night: Mapping[str, Any]) -> list[str]:
    """What these answers lack to obey the rules, in words."""
    given = [answer for answer in answers if not answer.refused]
    found = [f"no session: {a.text[:60]}" for a in given if not _says_session(a, night)]
    found += [f"no disclaimer: {a.text[:60]}" for a in given if night["disclaimer"] not in a.text]
    for row in (row for answer in given for row in rows_of(answer.body or {})):
        if row.get("win_rate_pct") is not None and not _has_sample(row):
            found.append(f"a win rate without its sample and average loss: {sorted(row)}")
        if "summary" in row and not _is_whole(row, night):
            found.append(f"a summary that is not whole: {row['summary']}")
        if "lines" in row and not _has_endpoints(row):
            found.append(f"lines without dated endpoints: {row['lines']}")
    return found


def rows_of(value: Any) -> Iterator[Mapping[str, Any]]:
    """Every object within a JSON value."""
    if isinstance(value, dict):
        yield value
    for part in value.values() if isinstance(value, dict) else value:
        if isinstance(part, dict | list):
            yield from rows_of(part)


def _says_session(answer: Answer, night: Mapping[str, Any]) -> bool:
    if answer.body is None:
        return f"as of {night['session']}" in answer.text
    return bool(answer.body["as_of_session"] == night["session"])


def _has_sample(row: Mapping[str, Any]) -> bool:
    trades = row.get("sample_size", row.get("win_rate_trades"))
    # There is no average of no loss, which the win rate of 100 % says.
    lost = row.get("avg_loss_pct") is not None or row["win_rate_pct"] == 100
    return isinstance(trades, int) and trades > 0 and "avg_loss_pct" in row and lost


def _is_whole(row: Mapping[str, Any], night: Mapping[str, Any]) -> bool:
    trades, rate = f"{row['sample_size']} resolved", f"{row['win_rate_pct']:.2f}%"
    return (
        row["summary"] in night["summaries"] and trades in row["summary"] and rate in row["summary"]
    )


def _has_endpoints(row: Mapping[str, Any]) -> bool:
    ends = [row["lines"][line][end] for line in ("upper", "lower") for end in ("start", "end")]
    dated = [dt.date.fromisoformat(end["date"]) for end in ends]
    rising = dated[0] < dated[1] and dated[2] < dated[3]
    return row["price_scale"] == "log" and rising and all(end["price"] > 0 for end in ends)
