"""History: the first attempts of a symbol's lineages as past nights served them, win or lose."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import orjson

from screener.nightly.bars import Bars, to_date
from screener.nightly.detector.detector import close_at_end
from screener.nightly.detector.events import EndReason, EventLog, Outcome, Rows, Scale
from screener.nightly.detector.parameters import DEFAULTS, Parameters
from screener.nightly.results.placebo import placebo, seeds_of
from screener.nightly.results.views import (
    OUTCOMES,
    TradeView,
    family_index,
    family_of_type,
    lineage_id,
    percent,
    price,
    setup_id,
    type_name,
)
from screener.nightly.series import Series

FACTS = np.dtype(
    [
        ("family", "i1"),  # position among the five
        ("direction", "i1"),
        ("outcome", "i1"),  # Outcome
        ("fate", "i1"),  # ListingStatus of the symbol
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

SIDES: Final = ("upper", "lower")

KEPT = np.dtype(
    [
        ("final", "?"),  # whether the trade is over and no later bar can change its placebo
        ("place", "i4"),  # of its history row, among those of the series
        ("attempts", "i2"),  # of its lineage so far
        ("lineage", "S16"),  # its id
    ]
)
"""What else a later night needs to know of a first attempt."""


class ListingStatus(IntEnum):
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
    new: Sequence[bytes] = ()
    """The bodies that the last night did not have."""


def merged(parts: Sequence[StoredRows]) -> StoredRows:
    """The rows of all series of a symbol, given oldest first."""
    newest_first = parts[::-1]
    outcomes = "".join(part.outcomes for part in newest_first)
    bodies = [body for part in newest_first for body in part.bodies]
    return StoredRows(outcomes, bodies, [body for part in newest_first for body in part.new])


def closed_at_end(bars: Bars, log: EventLog) -> EventLog:
    """The log of a series whose listing ended with its last bar: open trades close there."""
    trades = log.trades.copy()
    close_at_end(bars, trades)
    return EventLog(log.versions, trades)


class Lineages:
    """The lineages of one event log: their ids, the ids of their setups, and their attempts."""

    def __init__(self, symbol: str, bars: Bars, log: EventLog) -> None:
        self.symbol, self.bars, self.log = symbol, bars, log
        self._numbers = log.versions["lineage"]
        triggered = self._numbers[log.trades["version"]]
        attempts = np.bincount(triggered, minlength=int(self._numbers.max(initial=-1)) + 1)
        forming = log.versions[log.versions["end_reason"] == EndReason.FORMING]
        np.maximum.at(attempts, forming["lineage"], forming["attempt"])
        self._attempts: list[int] = attempts.tolist()
        self._ids: dict[int, str] = {}

    def id(self, number: int) -> str:
        """The id of a lineage."""
        if number not in self._ids:
            scale, start, served = self._births[number].tolist()
            twin = int((self._births[:number] == self._births[number]).all(axis=1).sum())
            first, since = to_date(self.bars.date[start]), to_date(self.bars.date[served])
            self._ids[number] = lineage_id(self.symbol, Scale(scale), first, since, twin)
        return self._ids[number]

    @cached_property
    def _births(self) -> npt.NDArray[np.int64]:
        """For each lineage: scale, first bar, and the bar first served, of its first version."""
        _, rows = np.unique(self._numbers, return_index=True)
        first = self.log.versions[rows]
        starts = np.minimum(first["upper_start"], first["lower_start"])
        return np.stack([first["scale"], starts, first["first_served"]], axis=1).astype(np.int64)

    def setup_id(self, row: int, number: int, attempt: int, bar: int, session: dt.date) -> str:
        """The id of a version's setup in a past or current session whose last bar is `bar`."""
        same = self._numbers[:row] == number
        older = np.flatnonzero(same & (self.log.versions["attempt"][:row] == attempt))
        twin = sum(self._is_served(other, bar) for other in older.tolist())
        return setup_id(self.id(number), attempt, session, twin)

    def _is_served(self, row: int, bar: int) -> bool:
        """Whether a version was served at a bar: as a forming setup, or as a running trade."""
        version, trades = self.log.versions[row], self.log.trades
        lives = [(version["first_served"], version["end"])]
        mine = trades[trades["version"] == row]
        lives += zip(mine["entry"].tolist(), mine["exit"].tolist(), strict=True)
        return any(bool(begin <= bar and (end < 0 or bar < end)) for begin, end in lives)

    def attempts(self, number: int) -> int:
        """How many times a lineage has triggered so far, and once more if it is forming again."""
        return self._attempts[number]


def first_attempts(log: EventLog) -> Rows:
    """The trades that are the first attempt of their lineage."""
    first: Rows = log.trades[log.versions["attempt"][log.trades["version"]] == 1]
    return first


@dataclass(frozen=True, slots=True, eq=False)
class FirstAttempts:
    """What a series says of the first attempts of its lineages, in order of entry."""

    facts: Rows
    """`FACTS` rows."""
    kept: Rows
    """`KEPT` rows."""
    rows: StoredRows
    """Their history rows, newest first."""

    @classmethod
    def none(cls) -> FirstAttempts:
        """First attempts without a trade."""
        return cls(np.empty(0, FACTS), np.empty(0, KEPT), StoredRows("", []))

    @classmethod
    def of(
        cls,
        series: Series,
        lineages: Lineages,
        fate: ListingStatus = ListingStatus.CURRENT,
        parameters: Parameters = DEFAULTS,
        *,
        ended: bool = False,
        last: FirstAttempts | None = None,
    ) -> FirstAttempts:
        """Measure the first attempts of a series, but for what the `last` night knew for good.

        If the symbol's listing `ended` with the last bar, draws of the placebo close there too.
        """
        last = last or cls.none()
        trades = first_attempts(lineages.log)
        facts, kept = np.zeros(len(trades), FACTS), np.zeros(len(trades), KEPT)
        known = len(last.kept)
        facts[:known], kept[:known] = last.facts, last.kept
        left = np.flatnonzero(~kept["final"])
        facts[left], kept["final"][left] = trade_facts(
            series, lineages, trades[left], parameters, ended=ended
        )
        facts["fate"] = fate
        rows = _Rows(lineages, trades, kept).stored(last)
        return cls(facts, kept, rows)


def trade_facts(
    series: Series,
    lineages: Lineages,
    trades: Rows,
    parameters: Parameters = DEFAULTS,
    *,
    ended: bool = False,
) -> tuple[Rows, npt.NDArray[np.bool_]]:
    """Trades as `FACTS` rows, but for the fate; and whether each is final.

    Open ones have no R and no move (NaN). They have no placebo either, because without an outcome
    there is nothing to compare.
    """
    bars, log = series.bars, lineages.log
    facts = np.zeros(len(trades), FACTS)
    entry, sign = trades["entry_price"], trades["direction"].astype(np.float64)
    kinds = log.versions["type"][trades["version"]]
    facts["family"] = [family_index(kind) for kind in kinds.tolist()]
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
    final = over.copy()
    seeds = seeds_of(lineages.symbol, bars, trades[over])
    draws = placebo(series, log, trades[over], seeds, parameters, ended=ended)
    final[over] = draws["final"].all(axis=(1, 2))
    resolved = draws["outcome"] != Outcome.OPEN
    facts["draws"][over] = resolved.sum(axis=(1, 2))
    facts["drawn_wins"][over] = (draws["outcome"] == Outcome.WIN).sum(axis=(1, 2))
    facts["drawn_r"][over] = np.where(resolved, draws["r"], 0.0).sum(axis=(1, 2))
    return facts, final


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """The history rows of first attempts in the making."""

    lineages: Lineages
    trades: Rows
    kept: Rows
    """What the last night kept of the first of them; what tonight keeps is filled in."""

    def stored(self, last: FirstAttempts) -> StoredRows:
        """The rows, each as the last night had it if nothing in it can have changed."""
        known = len(last.kept)
        numbers = self.lineages.log.versions["lineage"][self.trades["version"]].tolist()
        attempts = [self.lineages.attempts(number) for number in numbers]
        same = np.flatnonzero(
            (last.facts["outcome"] != Outcome.OPEN) & (last.kept["attempts"] == attempts[:known])
        )
        bodies = {at: last.rows.bodies[last.kept["place"][at]] for at in same.tolist()}
        changed = [at for at in range(len(self.trades)) if at not in bodies]
        bodies |= zip(changed, self._new(changed), strict=True)
        self.kept["attempts"] = attempts
        self.kept["lineage"][known:] = [self.lineages.id(number) for number in numbers[known:]]
        entries = self.lineages.bars.date[self.trades["entry"]]
        order = np.lexsort((self.kept["lineage"], -entries))
        self.kept["place"][order] = np.arange(len(order))
        outcomes = self.trades["outcome"][order].tolist()
        return StoredRows(
            "".join(OUTCOMES[outcome][0] for outcome in outcomes),
            [bodies[at] for at in order.tolist()],
            [bodies[at] for at in changed],
        )

    def _new(self, places: Sequence[int]) -> list[bytes]:
        trades, bars = self.trades[places], self.lineages.bars
        versions = self.lineages.log.versions[trades["version"]]
        named = bars.date[_bars_named(trades, versions)].tolist()
        dates = [[to_date(day) for day in days] for days in named]
        close, records = float(bars.close[-1]), (_records(trades), _records(versions))
        return [
            orjson.dumps(_row(close, trade, version, self.lineages, days))
            for trade, version, days in zip(*records, dates, strict=True)
        ]


def _bars_named(trades: Rows, versions: Rows) -> npt.NDArray[np.int32]:
    """For each trade: the bar before its entry, its entry, its exit (the last bar if open), and the
    first of each of its lines.
    """
    entry, starts = trades["entry"], [versions["upper_start"], versions["lower_start"]]
    return np.stack([entry - 1, entry, trades["exit"], *starts], axis=1)


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
    """The fields of `PastTrade`, in its order. Publishing validates every row with that model."""
    served, entered, left, *starts = dates
    view = TradeView.of(trade, entered, left, close)
    over = view.exit_date is not None
    family, number = family_of_type(version["type"]), version["lineage"]
    return {
        "setup_id": lineages.setup_id(trade["version"], number, 1, trade["entry"] - 1, served),
        "lineage_id": lineages.id(number),
        "family": family,
        "family_label": family.label,
        "pattern_type": type_name(version["type"]),
        "direction": view.direction,
        "outcome": view.outcome,
        "entry_date": view.entry_date,
        "entry_price": view.entry_price,
        "stop_price": view.stop_price,
        "target_price": view.target_price,
        "exit_date": view.exit_date,
        "exit_price": view.exit_price,
        "realized_move_pct": view.move_pct if over else None,
        "target_move_pct": target_move_pct(version["height"], trade["direction"]),
        "r_multiple": view.r_multiple if over else None,
        "unrealized_r": None if over else view.r_multiple,
        "hold_bars": trade["exit"] - trade["entry"] if over else None,
        "attempt": {"number": 1, "count": lineages.attempts(number)},
        "exit_reason": view.exit_reason,
        "lines": {
            side: _line(version, side, start, served, trade["entry"] - 1)
            for side, start in zip(SIDES, starts, strict=True)
        },
    }


def _line(
    version: Mapping[str, Any], side: str, start: dt.date, end: dt.date, last: int
) -> dict[str, Any]:
    """A line of a version, by its sides in dollars: from its first touch to the `last` bar."""
    begins, slope = version[f"{side}_value"], version[f"{side}_slope"]
    ends = begins + slope * (last - version[f"{side}_start"])
    return {
        "start": {"date": start, "price": price(math.exp(begins))},
        "end": {"date": end, "price": price(math.exp(ends))},
    }


def target_move_pct(height: float, sign: int) -> float:
    """The measured move from the line to the target, in percent of price."""
    return percent(100 * (math.exp(height) - 1 if sign > 0 else 1 - math.exp(-height)))
