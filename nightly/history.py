"""History: the first attempts of a symbol's lineages as the nightly served them, win or lose."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np
import orjson

from nightly.bars import Bars, to_date
from nightly.events import EventLog, Outcome, Rows, Scale
from nightly.ids import lineage_id, setup_id
from nightly.numbers import multiple, percent, price
from nightly.patterns import FAMILIES, direction_name, family_index, type_name
from nightly.placebo import placebo_of
from store.records import Attempt, HistoryRow

OUTCOMES = {Outcome.WIN: "win", Outcome.LOSS: "loss", Outcome.OPEN: "open"}

FACTS = np.dtype(
    [
        ("family", "i1"),  # position among the five
        ("direction", "i1"),
        ("outcome", "i1"),  # Outcome
        ("entry_day", "i4"),
        ("realized_pct", "f8"),  # of the entry price, in the trade's favour
        ("r", "f8"),  # R multiple
        ("hold_bars", "i4"),
        ("atr_pct", "f8"),  # at entry
        ("risk_pct", "f8"),  # entry to stop, of the entry price
        ("draws", "i1"),  # resolved placebo trades with its stop and target
        ("drawn_wins", "i1"),  # of these, how many reached the target
        ("drawn_r", "f8"),  # sum of their R multiples
    ]
)
"""What statistics need of one first attempt."""


@dataclass(frozen=True, slots=True)
class StoredRows:
    """History rows newest first: an outcome letter and a JSON body each."""

    outcomes: str
    bodies: list[bytes]


class Lineages:
    """The lineages of one event log: their ids and how often each was attempted."""

    def __init__(self, symbol: str, bars: Bars, log: EventLog) -> None:
        self._ids: dict[int, str] = {}
        for version in log.versions:
            number = int(version["lineage"])
            if number not in self._ids:
                start = min(version["upper_start"], version["lower_start"])
                self._ids[number] = lineage_id(
                    symbol,
                    Scale(int(version["scale"])),
                    to_date(bars.date[start]),
                    to_date(bars.date[version["first_served"]]),
                )
        self._attempts = Counter(log.versions["lineage"][log.trades["version"]].tolist())

    def id(self, number: int) -> str:
        """The id of a lineage."""
        return self._ids[number]

    def attempts(self, number: int) -> int:
        """How often a lineage has triggered so far."""
        return self._attempts[number]


def first_attempts(log: EventLog) -> Rows:
    """The trades that were the first attempt of their lineage."""
    first: Rows = log.trades[log.versions["attempt"][log.trades["version"]] == 1]
    return first


def trade_facts(symbol: str, bars: Bars, log: EventLog) -> Rows:
    """The first attempts as `FACTS` rows, in order of entry; r and realized are NaN while open.

    Open trades have no placebo: nobody knows how they compare.
    """
    trades = first_attempts(log)
    facts = np.zeros(len(trades), FACTS)
    entry, sign = trades["entry_price"], trades["direction"].astype(np.float64)
    kinds = log.versions["type"][trades["version"]]
    facts["family"] = [family_index(kind) for kind in kinds]
    facts["direction"] = trades["direction"]
    facts["outcome"] = trades["outcome"]
    facts["entry_day"] = bars.date[trades["entry"]]
    facts["realized_pct"] = 100 * sign * (trades["exit_price"] / entry - 1)
    risk = np.abs(entry - trades["stop_price"])
    facts["r"] = sign * (trades["exit_price"] - entry) / risk
    facts["hold_bars"] = np.where(trades["exit"] >= 0, trades["exit"] - trades["entry"], 0)
    facts["atr_pct"] = 100 * trades["atr"]
    facts["risk_pct"] = 100 * risk / entry
    over = trades["outcome"] != Outcome.OPEN
    draws = placebo_of(symbol, bars, trades[over])
    resolved = draws["outcome"] != Outcome.OPEN
    facts["draws"][over] = resolved.sum(axis=1)
    facts["drawn_wins"][over] = (draws["outcome"] == Outcome.WIN).sum(axis=1)
    facts["drawn_r"][over] = np.where(resolved, draws["r"], 0.0).sum(axis=1)
    return facts


def history_rows(bars: Bars, log: EventLog, lineages: Lineages) -> StoredRows:
    """The history a client reads: newest entry first, then by lineage id."""
    rows = [_row(bars, log, trade, lineages) for trade in first_attempts(log)]
    rows.sort(key=lambda row: str(row.lineage_id))
    rows.sort(key=lambda row: str(row.entry_date), reverse=True)
    return StoredRows(
        "".join(row.outcome[0] for row in rows),
        [orjson.dumps(row.model_dump(mode="json")) for row in rows],
    )


def _row(bars: Bars, log: EventLog, trade: Rows, lineages: Lineages) -> HistoryRow:
    version = log.versions[trade["version"]]
    entry, sign = float(trade["entry_price"]), int(trade["direction"])
    risk = abs(entry - float(trade["stop_price"]))
    resolved = trade["outcome"] != Outcome.OPEN
    last = float(trade["exit_price"] if resolved else bars.close[-1])
    r = sign * (last - entry) / risk
    family = FAMILIES[family_index(int(version["type"]))]
    lineage = int(version["lineage"])
    return HistoryRow(
        setup_id=setup_id(lineages.id(lineage), 1, to_date(bars.date[trade["entry"] - 1])),
        lineage_id=lineages.id(lineage),
        family=family,
        family_label=family.label,
        pattern_type=type_name(int(version["type"])),
        direction=direction_name(sign),
        outcome=OUTCOMES[Outcome(int(trade["outcome"]))],  # type: ignore[arg-type]
        entry_date=to_date(bars.date[trade["entry"]]),
        entry_price=price(entry),
        stop_price=price(float(trade["stop_price"])),
        target_price=price(float(trade["target_price"])),
        exit_date=to_date(bars.date[trade["exit"]]) if resolved else None,
        exit_price=price(last) if resolved else None,
        realized_move_pct=percent(100 * sign * (last / entry - 1)) if resolved else None,
        target_move_pct=target_move_pct(float(version["height"]), sign),
        r_multiple=multiple(r) if resolved else None,
        unrealized_r=None if resolved else multiple(r),
        hold_bars=int(trade["exit"] - trade["entry"]) if resolved else None,
        attempt=Attempt(number=1, count=lineages.attempts(lineage)),
    )


def target_move_pct(height: float, sign: int) -> float:
    """The measured move from the line to the target, percent of price."""
    return percent(100 * (math.exp(height) - 1 if sign > 0 else 1 - math.exp(-height)))
