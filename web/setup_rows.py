"""Setup rows: the setups of a night as lists of pages show them, each value in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from store.briefs import Row, shown_record
from store.method import FEW
from web.figures import dollars, move, percent

SUBTYPES: Mapping[str, str] = {
    "symmetrical_triangle": "Symmetrical",
    "ascending_triangle": "Ascending",
    "descending_triangle": "Descending",
    "squeeze_consolidation": "Squeeze",
}
"""The pattern types that the label of their family does not say."""


@dataclass(frozen=True, slots=True)
class RecordWords:
    """A track record in words: never the share of wins without sample and average loss."""

    share: str
    sample: str
    loss: str
    random: str
    """The share of random entries; empty if the record has none."""


@dataclass(frozen=True, slots=True)
class SetupRow:
    """One line of the scan."""

    rank: int
    symbol: str
    name: str
    setup_id: str
    family: str
    family_label: str
    pattern: str
    direction: str
    status: str
    attempt: str
    """Empty for a first attempt that is the only one."""
    distance: str
    side: str
    trigger: str
    stop: str
    stop_move: str
    target: str
    target_move: str
    reward_to_risk: str
    gain: str
    record: RecordWords | None
    words: str
    """What its picture shows."""

    @classmethod
    def of(cls, row: Row, name: str) -> SetupRow:
        """The line of a ScanSetup."""
        plan = row["plans"][0]
        trigger, stop, target = (plan[f"{part}_price"] for part in ("trigger", "stop", "target"))
        status = status_words(row["status"], row.get("sessions_since_trigger"))
        subtype = SUBTYPES.get(row["pattern_type"])
        label = row["family_label"]
        pattern = f"{subtype} {label.lower()}" if subtype else label
        return cls(
            rank=row["rank"],
            symbol=row["symbol"],
            name=name,
            setup_id=row["setup_id"],
            family=row["family"],
            family_label=label,
            pattern=pattern,
            direction=row["direction"],
            status=status,
            attempt=_attempt(row.get("attempt") or {}),
            distance=percent(row["distance_to_trigger_pct"]),
            side=side_words(row.get("last_close_side")),
            trigger=dollars(trigger),
            stop=dollars(stop),
            stop_move=move(100 * (stop / trigger - 1)),
            target=dollars(target),
            target_move=move(100 * (target / trigger - 1)),
            reward_to_risk=_ratio(abs(target - trigger), abs(trigger - stop)),
            gain=_or_none(row["expected_gain_pct"]),
            record=_record(row),
            words=f"{row['symbol']}: {pattern}, {row['direction']}, {status}",
        )


def status_words(status: str, sessions: int | None = None) -> str:
    """A status, and for a running trade how long ago it broke out."""
    if status == "forming":
        return "forming"
    if sessions is None:
        return "in progress"
    return (
        f"broke out {sessions} session{'' if sessions == 1 else 's'} ago"
        if sessions
        else ("broke out this session")
    )


def side_words(side: str | None) -> str:
    """Which side of the trigger the last close is on; of a running trade it is not told."""
    return f"{side or 'from'} the trigger"


def _or_none(value: float | None) -> str:
    return "none" if value is None else move(value)


def _ratio(reward: float, risk: float) -> str:
    return f"{reward / risk:.1f}" if risk else "none"


def _attempt(attempt: Mapping[str, Any]) -> str:
    number, count = attempt.get("number"), attempt.get("count")
    return f"attempt {number} of {count}" if number and count and count > 1 else ""


def _record(row: Row) -> RecordWords | None:
    found = shown_record(row)
    if found is None:
        return None
    fields, trades = found.fields, row["win_rate_trades"]
    loss, random = fields["avg_loss_pct"], fields.get("placebo_win_rate_pct")
    whose = row["symbol"] if found.scope == "ticker" else "the family"
    few = ", too few to say anything" if trades < FEW else ""
    return RecordWords(
        share=percent(row["win_rate_pct"]),
        sample=f"{trades:,} trade{'' if trades == 1 else 's'} of {whose}{few}",
        loss="no loss" if loss is None else f"average loss {move(loss)}",
        random="" if random is None else f"random entries {percent(random)}",
    )
