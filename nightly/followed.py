"""Followed trades: what became of trades by their stop and target as they were served.

The rule is the kernel's, and the levels are those that a reader saw. Bars that a provider revised
later change neither the levels nor what an earlier night resolved.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from nightly.bars import Bars, Floats, to_date, to_day
from nightly.events import TRADE, EndReason, EventLog, Outcome, Rows
from nightly.history import Lineages
from nightly.kernel.placebo import BAR, resolve_draws
from nightly.numbers import multiple, percent, price
from nightly.patterns import FAMILIES, direction_name, family_index, type_name
from store.ledger.served import FollowedTrade, ServedOutcome, Terms, TradeKey
from store.wire.records import ExitReason, PricePoint

ROUNDING: Final = 1e-6
"""Prices are served with seven digits, so that equal ones differ by less than this share."""

REASONS: Final[Mapping[int, ExitReason]] = {
    Outcome.WIN: "target",
    Outcome.LOSS: "stop",
    Outcome.DELISTED: "delisted",
}


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A series of a symbol tonight, with its log."""

    bars: Bars
    log: EventLog
    lineages: Lineages


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """The newest version and the newest trade of each setup in the logs of a symbol's series."""

    versions: Mapping[TradeKey, tuple[Bars, Rows]]
    trades: Mapping[TradeKey, tuple[Bars, Rows]]

    @classmethod
    def of(cls, symbol: str, parts: Sequence[Part]) -> Known:
        """Look through the logs, those of the oldest series first."""
        found: dict[TradeKey, tuple[Bars, Rows]] = {}
        trades: dict[TradeKey, tuple[Bars, Rows]] = {}
        for part in parts:
            rows = part.log.versions
            names = zip(rows["lineage"].tolist(), rows["attempt"].tolist(), strict=True)
            keys = [
                TradeKey(symbol, part.lineages.id(number), attempt) for number, attempt in names
            ]
            found |= {key: (part.bars, rows[place]) for place, key in enumerate(keys)}
            trades |= {keys[trade["version"]]: (part.bars, trade) for trade in part.log.trades}
        return cls(found, trades)

    def is_open(self, key: TradeKey) -> bool:
        """Whether the bars say that the trade of a setup is open."""
        return key in self.trades and bool(self.trades[key][1]["outcome"] == Outcome.OPEN)

    def end(self, key: TradeKey, after: dt.date) -> EndReason:
        """Why a setup ended after a day; FORMING if it did not."""
        if key not in self.versions:
            return EndReason.FORMING
        bars, version = self.versions[key]
        if version["end"] < 0 or to_date(bars.date[version["end"]]) <= after:
            return EndReason.FORMING
        return EndReason(int(version["end_reason"]))

    def trade(self, key: TradeKey, after: dt.date) -> ServedOutcome | FollowedTrade | None:
        """The trade of a setup that triggered after a day, as the bars resolve it."""
        if key not in self.trades:
            return None
        bars, trade = self.trades[key]
        if to_date(bars.date[trade["entry"]]) <= after:
            return None
        return _traded(key, bars, trade, self.versions[key][1])


def resolved(
    trade: FollowedTrade, parts: Sequence[Part], *, delisted: bool
) -> ServedOutcome | FollowedTrade:
    """The outcome of a trade by the bars after its last session, or the trade itself, still open.

    `parts` are the symbol's series, oldest first. The trade stays in the series of its last
    session, since prices of another one cannot be compared with it. If the symbol was `delisted`,
    a trade that the newest series leaves open closes at the last close. Bars that end before the
    last session, as of a file cut short, tell nothing.
    """
    day = to_day(trade.last_session)
    if not parts or (parts[-1].bars.date[-1] < day and not delisted):
        return trade
    mine = [part for part in parts if part.bars.date[0] <= day]
    if not mine:
        return trade
    bars = mine[-1].bars
    place = int(np.searchsorted(bars.date, day, side="right")) - 1
    row = _row(trade, _ratio(trade, bars, place), place)
    resolve_draws(_prices(bars), row)
    last = len(bars) - 1
    entered = to_day(trade.terms.entry_date) < bars.date[last]
    if row["outcome"][0] == Outcome.OPEN and delisted and mine[-1] is parts[-1] and entered:
        row["outcome"], row["exit"], row["exit_price"] = Outcome.DELISTED, last, bars.close[last]
    if row["outcome"][0] == Outcome.OPEN:
        return _still_open(trade, row[0], bars)
    return _outcome(trade, row[0], bars)


def same_terms(one: Terms, other: Terms) -> bool:
    """Whether two trades have the same terms but for rounding.

    These tell the direction too: the target of a bullish trade is above its stop.
    """
    pairs = (
        (one.entry_price, other.entry_price),
        (one.stop_price, other.stop_price),
        (one.target_price, other.target_price),
    )
    return one.entry_date == other.entry_date and all(_same(a, b) for a, b in pairs)


def _ratio(trade: FollowedTrade, bars: Bars, place: int) -> float:
    """By what prices were multiplied since they were served, as after a split; 1 if by nothing.

    A new scale moves the last close and the prices before it alike. If the close alone moved, it
    was corrected, and the scale is the old one.
    """
    if to_date(bars.date[place]) != trade.last_session:
        return 1.0
    ratio = float(bars.close[place]) / trade.last_close
    if _same(ratio, 1.0):
        return 1.0
    entry = PricePoint(date=trade.terms.entry_date, price=trade.terms.entry_price)
    before = (_moved(trade.anchor, bars, bars.high), _moved(entry, bars, bars.close), ratio)
    known = next(moved for moved in before if moved is not None)
    return 1.0 if _same(known, 1.0) else known


def _moved(point: PricePoint | None, bars: Bars, values: Floats) -> float | None:
    """By what a price of a day was multiplied since; None if it is not known or the day is not."""
    if point is None:
        return None
    place = int(np.searchsorted(bars.date, to_day(point.date)))
    known = place < len(bars) and to_date(bars.date[place]) == point.date
    return float(values[place]) / point.price if known else None


def _same(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=ROUNDING)


def _row(trade: FollowedTrade, ratio: float, place: int) -> Rows:
    """The trade at tonight's scale, as if it had been entered at the bar `place`."""
    row = np.zeros(1, TRADE)
    row["entry"] = place
    row["direction"] = 1 if trade.direction == "bullish" else -1
    row["entry_price"] = trade.terms.entry_price * ratio
    row["stop_price"] = trade.terms.stop_price * ratio
    row["target_price"] = trade.terms.target_price * ratio
    row["exit"], row["exit_price"], row["outcome"] = -1, np.nan, Outcome.OPEN
    return row


def _prices(bars: Bars) -> Rows:
    rows = np.empty(len(bars), BAR)
    rows["open"], rows["high"], rows["low"] = bars.open, bars.high, bars.low
    return rows


def _terms(trade: FollowedTrade, row: Rows) -> Terms:
    return Terms(
        entry_date=trade.terms.entry_date,
        entry_price=price(float(row["entry_price"])),
        stop_price=price(float(row["stop_price"])),
        target_price=price(float(row["target_price"])),
    )


def _still_open(trade: FollowedTrade, row: Rows, bars: Bars) -> FollowedTrade:
    later = {
        "terms": _terms(trade, row),
        "last_session": to_date(bars.date[-1]),
        "last_close": price(float(bars.close[-1])),
        "anchor": _scaled(trade.anchor, float(row["stop_price"]) / trade.terms.stop_price),
    }
    return trade.model_copy(update=later)


def _scaled(point: PricePoint | None, ratio: float) -> PricePoint | None:
    return point and PricePoint(date=point.date, price=price(point.price * ratio))


def _outcome(trade: FollowedTrade, row: Rows, bars: Bars) -> ServedOutcome:
    sign, entry, exit_price = (
        float(row[name]) for name in ("direction", "entry_price", "exit_price")
    )
    risk = abs(entry - float(row["stop_price"]))
    return ServedOutcome(
        symbol=trade.symbol,
        lineage_id=trade.lineage_id,
        attempt=trade.attempt,
        family=trade.family,
        pattern_type=trade.pattern_type,
        direction=trade.direction,
        terms=_terms(trade, row),
        exit_reason=REASONS[int(row["outcome"])],
        exit_date=to_date(bars.date[row["exit"]]),
        exit_price=price(exit_price),
        move_pct=percent(100 * sign * (exit_price / entry - 1)),
        r_multiple=multiple(sign * (exit_price - entry) / risk),
    )


def _traded(key: TradeKey, bars: Bars, trade: Rows, version: Rows) -> ServedOutcome | FollowedTrade:
    """A trade of the log in the form of one that was served: its outcome, or as it is, if open."""
    terms = Terms(
        entry_date=to_date(bars.date[trade["entry"]]),
        entry_price=price(float(trade["entry_price"])),
        stop_price=price(float(trade["stop_price"])),
        target_price=price(float(trade["target_price"])),
    )
    found = FollowedTrade(
        symbol=key.symbol,
        lineage_id=key.lineage_id,
        attempt=key.attempt,
        family=FAMILIES[family_index(int(version["type"]))],
        pattern_type=type_name(int(version["type"])),
        direction=direction_name(int(trade["direction"])),
        terms=terms,
        last_session=to_date(bars.date[-1]),
        last_close=price(float(bars.close[-1])),
    )
    return found if trade["outcome"] == Outcome.OPEN else _outcome(found, trade, bars)
