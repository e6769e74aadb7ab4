"""History: the first attempts of a symbol's lineages as past nights served them, win or lose."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from nightly.bars import Bars, to_date
from nightly.detector import DEFAULTS, Parameters
from nightly.events import EndReason, EventLog, Outcome, Rows, Scale
from nightly.ids import lineage_id, setup_id
from nightly.numbers import multiple, percent, price
from nightly.patterns import FAMILIES, direction_name, family_index, type_name
from nightly.placebo import placebo, seeds_of
from nightly.series import Series

OUTCOMES: Mapping[int, str] = {
    Outcome.WIN: "win",
    Outcome.LOSS: "loss",
    Outcome.OPEN: "open",
    Outcome.DELISTED: "loss",  # the target was not reached, whatever the last close was
}
EXIT_REASONS: Mapping[int, str | None] = {
    Outcome.WIN: "target",
    Outcome.LOSS: "stop",
    Outcome.OPEN: None,
    Outcome.DELISTED: "delisted",
}

FOREVER = np.iinfo(np.int32).max

FACTS = np.dtype(
    [
        ("family", "i1"),  # position among the five
        ("direction", "i1"),
        ("outcome", "i1"),  # Outcome
        ("fate", "i1"),  # Fate of the symbol
        ("entry_day", "i4"),
        ("realized_pct", "f8"),  # of the entry price, in the trade's favour
        ("r", "f8"),  # R multiple
        ("hold_bars", "i4"),
        ("atr_pct", "f8"),  # at entry
        ("risk_pct", "f8"),  # entry to stop, of the entry price
        ("draws", "i2"),  # placebo trades with its stop and target, two for each pair
        ("drawn_wins", "i2"),  # of these, how many reached the target
        ("drawn_r", "f8"),  # sum of their R multiples
    ]
)
"""The numbers of one first attempt that the statistics need."""


class Fate(IntEnum):
    """What became of a symbol by the session of the night."""

    CURRENT = 0
    STOPPED = 1
    """Its bars stop earlier, for whatever reason."""
    DELISTED = 2
    """Its bars stop where the reference says that its listing ended."""


@dataclass(frozen=True, slots=True)
class StoredRows:
    """History rows, newest first: an outcome letter and a JSON body for each."""

    outcomes: str
    bodies: list[bytes]


def merged(parts: Sequence[StoredRows]) -> StoredRows:
    """The rows of all series of a symbol, given oldest first."""
    newest_first = parts[::-1]
    outcomes = "".join(part.outcomes for part in newest_first)
    return StoredRows(outcomes, [body for part in newest_first for body in part.bodies])


def closed_at_end(bars: Bars, log: EventLog) -> EventLog:
    """The log of a series whose listing ended with its last bar: open trades close there."""
    trades = log.trades.copy()
    left = trades["outcome"] == Outcome.OPEN
    # Nothing could be sold after the last close, so a trade that was entered there never was.
    left &= trades["entry"] < len(bars) - 1
    trades["outcome"][left] = Outcome.DELISTED
    trades["exit"][left] = len(bars) - 1
    trades["exit_price"][left] = bars.close[-1]
    return EventLog(log.versions, trades)


class Lineages:
    """The lineages of one event log: their ids, the ids of their setups, and their attempts."""

    def __init__(self, symbol: str, bars: Bars, log: EventLog) -> None:
        self._symbol = symbol
        self._bars = bars
        self._born = _born(log.versions)
        self._attempts = Counter(log.versions["lineage"][log.trades["version"]].tolist())
        forming = log.versions[log.versions["end_reason"] == EndReason.FORMING]
        self._forming: dict[int, int] = dict(
            zip(forming["lineage"].tolist(), forming["attempt"].tolist(), strict=True)
        )
        self._ids: dict[int, str] = {}
        self._lives = _lives(log)
        self._setups: dict[tuple[int, int], list[int]] = {}
        names = zip(log.versions["lineage"].tolist(), log.versions["attempt"].tolist(), strict=True)
        for row, setup in enumerate(names):
            self._setups.setdefault(setup, []).append(row)

    def id(self, number: int) -> str:
        """The id of a lineage."""
        if number not in self._ids:
            scale, start, served, twin = self._born[number]
            first, since = to_date(self._bars.date[start]), to_date(self._bars.date[served])
            self._ids[number] = lineage_id(self._symbol, Scale(scale), first, since, twin)
        return self._ids[number]

    def setup_id(self, row: int, number: int, attempt: int, bar: int, session: dt.date) -> str:
        """The id of a version's setup in a past or current session whose last bar is `bar`."""
        older = (other for other in self._setups[number, attempt] if other < row)
        twin = sum(any(a <= bar < b for a, b in self._lives[other]) for other in older)
        return setup_id(self.id(number), attempt, session, twin)

    def attempts(self, number: int) -> int:
        """How many times a lineage has triggered so far."""
        return self._attempts[number]

    def served_attempts(self, number: int) -> int:
        """The same, and one more if the lineage is forming again."""
        return max(self._forming.get(number, 0), self._attempts[number])


def _born(versions: Rows) -> dict[int, tuple[int, int, int, int]]:
    """For each lineage: scale, first bar, bar first served, and how many older ones share these."""
    numbers, rows = np.unique(versions["lineage"], return_index=True)
    first = versions[rows]
    starts = np.minimum(first["upper_start"], first["lower_start"])
    columns = (numbers, first["scale"], starts, first["first_served"])
    seen: Counter[tuple[int, int, int]] = Counter()
    born = {}
    for number, *facts in zip(*(column.tolist() for column in columns), strict=True):
        key = (facts[0], facts[1], facts[2])
        born[number] = (*key, seen[key])
        seen[key] += 1
    return born


Life = tuple[int, int]
"""A half-open range of bars at which a setup is served: the second bar is excluded."""


def _lives(log: EventLog) -> list[list[Life]]:
    """For each version, when it was served: as a forming setup, and as a running trade."""
    ends = np.where(log.versions["end"] >= 0, log.versions["end"], FOREVER).tolist()
    lives = [[life] for life in zip(log.versions["first_served"].tolist(), ends, strict=True)]
    exits = np.where(log.trades["exit"] >= 0, log.trades["exit"], FOREVER).tolist()
    entries = log.trades["entry"].tolist()
    for row, *life in zip(log.trades["version"].tolist(), entries, exits, strict=True):
        lives[row].append((life[0], life[1]))
    return lives


def first_attempts(log: EventLog) -> Rows:
    """The trades that are the first attempt of their lineage."""
    first: Rows = log.trades[log.versions["attempt"][log.trades["version"]] == 1]
    return first


def trade_facts(
    symbol: str,
    series: Series,
    log: EventLog,
    fate: Fate = Fate.CURRENT,
    parameters: Parameters = DEFAULTS,
    *,
    ended: bool = False,
) -> Rows:
    """The first attempts as `FACTS` rows, in order of entry; open ones have no R and no move (NaN).

    Open trades have no placebo, because without an outcome there is nothing to compare. If the
    symbol's listing `ended` with the last bar, draws close there too.
    """
    bars, trades = series.bars, first_attempts(log)
    facts = np.zeros(len(trades), FACTS)
    entry, sign = trades["entry_price"], trades["direction"].astype(np.float64)
    kinds = log.versions["type"][trades["version"]]
    facts["family"] = [family_index(kind) for kind in kinds]
    facts["direction"] = trades["direction"]
    facts["outcome"] = trades["outcome"]
    facts["fate"] = fate
    facts["entry_day"] = bars.date[trades["entry"]]
    facts["realized_pct"] = 100 * sign * (trades["exit_price"] / entry - 1)
    risk = np.abs(entry - trades["stop_price"])
    facts["r"] = sign * (trades["exit_price"] - entry) / risk
    facts["hold_bars"] = np.where(trades["exit"] >= 0, trades["exit"] - trades["entry"], 0)
    facts["atr_pct"] = 100 * trades["atr"]
    facts["risk_pct"] = 100 * risk / entry
    over = trades["outcome"] != Outcome.OPEN
    seeds = seeds_of(symbol, bars, trades[over])
    draws = placebo(series, log, trades[over], seeds, parameters, ended=ended)
    resolved = draws["outcome"] != Outcome.OPEN
    facts["draws"][over] = resolved.sum(axis=(1, 2))
    facts["drawn_wins"][over] = (draws["outcome"] == Outcome.WIN).sum(axis=(1, 2))
    facts["drawn_r"][over] = np.where(resolved, draws["r"], 0.0).sum(axis=(1, 2))
    return facts


def history_rows(bars: Bars, log: EventLog, lineages: Lineages) -> StoredRows:
    """The history rows that clients read: newest entry first, then by lineage id."""
    trades = first_attempts(log)
    dates = [to_date(day) for day in bars.date[_bars_named(trades)].tolist()]
    pairs = zip(_records(trades), _records(log.versions[trades["version"]]), strict=True)
    rows = [
        _row(float(bars.close[-1]), trade, version, lineages, dates[3 * number : 3 * number + 3])
        for number, (trade, version) in enumerate(pairs)
    ]
    rows.sort(key=lambda row: str(row["lineage_id"]))
    rows.sort(key=lambda row: str(row["entry_date"]), reverse=True)
    return StoredRows(
        "".join(row["outcome"][0] for row in rows), [orjson.dumps(row) for row in rows]
    )


def _bars_named(trades: Rows) -> npt.NDArray[np.int32]:
    """For each trade: the bar before its entry, its entry, and its exit (the last bar if open)."""
    return np.stack([trades["entry"] - 1, trades["entry"], trades["exit"]], axis=1).ravel()


def _records(rows: Rows) -> list[dict[str, Any]]:
    """Rows as dictionaries, because reading fields of numpy records one by one is slow."""
    names = rows.dtype.names or ()
    return [dict(zip(names, row, strict=True)) for row in rows.tolist()]


def _row(
    close: float,
    trade: Mapping[str, Any],
    version: Mapping[str, Any],
    lineages: Lineages,
    dates: Sequence[dt.date],
) -> dict[str, Any]:
    """The fields of `HistoryRow`, in its order. Publishing validates every row with that model."""
    served, entered, left = dates
    entry, sign = trade["entry_price"], trade["direction"]
    risk = abs(entry - trade["stop_price"])
    resolved = trade["outcome"] != Outcome.OPEN
    last = trade["exit_price"] if resolved else close
    r = sign * (last - entry) / risk
    family = FAMILIES[family_index(version["type"])]
    number = version["lineage"]
    return {
        "setup_id": lineages.setup_id(trade["version"], number, 1, trade["entry"] - 1, served),
        "lineage_id": lineages.id(number),
        "family": family,
        "family_label": family.label,
        "pattern_type": type_name(version["type"]),
        "direction": direction_name(sign),
        "outcome": OUTCOMES[trade["outcome"]],
        "entry_date": entered,
        "entry_price": price(entry),
        "stop_price": price(trade["stop_price"]),
        "target_price": price(trade["target_price"]),
        "exit_date": left if resolved else None,
        "exit_price": price(last) if resolved else None,
        "realized_move_pct": percent(100 * sign * (last / entry - 1)) if resolved else None,
        "target_move_pct": target_move_pct(version["height"], sign),
        "r_multiple": multiple(r) if resolved else None,
        "unrealized_r": None if resolved else multiple(r),
        "hold_bars": trade["exit"] - trade["entry"] if resolved else None,
        "attempt": {"number": 1, "count": lineages.attempts(number)},
        "exit_reason": EXIT_REASONS[trade["outcome"]],
    }


def target_move_pct(height: float, sign: int) -> float:
    """The measured move from the line to the target, in percent of price."""
    return percent(100 * (math.exp(height) - 1 if sign > 0 else 1 - math.exp(-height)))
