"""Screen rows: the setups of a night as the screen lists them, each value in words."""

from __future__ import annotations

from dataclasses import dataclass

from mcp_server.operations.setups import levels_of
from store.briefs import Row, shown_record
from store.method import FEW
from store.setup_words import (
    pattern_words,
    place_words,
    ratio_words,
    setup_words,
    state_words,
)
from web.figures import change, dollars, percent


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
    pattern: str
    direction: str
    state: str
    """Its status, how long ago it broke out, and which attempt it is."""
    distance: str
    place: str
    start_name: str
    """What the per cents and the reward to risk count from: the trigger, or a trade's entry."""
    start: str
    stop: str
    stop_change: str
    target: str
    target_change: str
    reward_to_risk: str
    gain: str
    record: RecordWords | None
    words: str
    """What its picture shows."""

    @classmethod
    def of(cls, row: Row, name: str) -> SetupRow:
        """The line of a ScanSetup with its entry."""
        levels = levels_of(row)
        gain = row["expected_gain_pct"]
        return cls(
            rank=row["rank"],
            symbol=row["symbol"],
            name=name,
            setup_id=row["setup_id"],
            family=row["family"],
            pattern=pattern_words(row),
            direction=row["direction"],
            state=state_words(row),
            distance=percent(row["distance_to_trigger_pct"]),
            place=place_words(row),
            start_name=levels.start_name.capitalize(),
            start=dollars(levels.start),
            stop=dollars(levels.stop),
            stop_change=change(levels.stop_pct),
            target=dollars(levels.target),
            target_change=change(levels.target_pct),
            reward_to_risk=ratio_words(levels.reward_to_risk),
            gain="none" if gain is None else change(gain),
            record=_record(row),
            words=setup_words(row),
        )


def _record(row: Row) -> RecordWords | None:
    found = shown_record(row)
    if found is None:
        return None
    fields, trades = found.fields, row["win_rate_trades"]
    loss, random = fields["avg_loss_pct"], fields.get("placebo_win_rate_pct")
    whose = row["symbol"] if found.scope == "ticker" else "the family"
    sided = (row["track_record"][found.scope] or {}).get("by_direction")
    kind = f"{row['direction']} " if sided else ""
    few = ", too few to say anything" if trades < FEW else ""
    return RecordWords(
        share=percent(row["win_rate_pct"]),
        sample=f"{trades:,} {kind}trade{'' if trades == 1 else 's'} of {whose}{few}",
        loss="no loss" if loss is None else f"average loss {change(loss)}",
        random="" if random is None else f"random entries {percent(random)}",
    )
