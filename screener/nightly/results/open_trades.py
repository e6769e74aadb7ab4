"""Open trades: what became of trades by their stop and target as they were served.

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

from screener.nightly.bars import Bars, Floats, to_date, to_day
from screener.nightly.detector.detector import resolve
from screener.nightly.detector.events import TRADE, EndReason, Outcome, Rows
from screener.nightly.results.history import Lineages
from screener.nightly.results.views import (
    TradeView,
    family_of_type,
    past_lines,
    price,
    type_name,
)
from store.ledger.served import FollowedTrade, ServedOutcome, Terms, TradeKey
from store.wire.records import PastLines, PricePoint

ROUNDING: Final = 1e-6
"""Prices are served with seven digits, so that equal ones differ by less than this share."""

EXIT: Final = ("exit_reason", "exit_date", "exit_price", "move_pct", "r_multiple")
"""What an outcome has of the view of its trade."""


@dataclass(frozen=True, slots=True, eq=False)
class SetupLog:
    """The newest version and the newest trade of each setup in the logs of a symbol's series."""

    versions: Mapping[TradeKey, tuple[Bars, Rows]]
    trades: Mapping[TradeKey, tuple[Bars, Rows]]

    @classmethod
    def of(cls, logs: Sequence[Lineages]) -> SetupLog:
        """Look through the logs, those of the oldest series first."""
        versions: dict[TradeKey, tuple[Bars, Rows]] = {}
        trades: dict[TradeKey, tuple[Bars, Rows]] = {}
        for part in logs:
            rows = part.log.versions
            names = zip(rows["lineage"].tolist(), rows["attempt"].tolist(), strict=True)
            keys = [TradeKey(part.symbol, part.id(number), attempt) for number, attempt in names]
            versions |= {key: (part.bars, row) for key, row in zip(keys, rows, strict=True)}
            trades |= {keys[trade["version"]]: (part.bars, trade) for trade in part.log.trades}
        return cls(versions, trades)

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

    def lines(self, key: TradeKey) -> PastLines | None:
        """The lines of a setup up to its end; None if the bars do not have it."""
        if key not in self.versions:
            return None
        bars, version = self.versions[key]
        last = int(version["end"]) if version["end"] >= 0 else len(bars) - 1
        return past_lines(bars, version, last)

    def last_bar(self, key: TradeKey) -> PricePoint:
        """The close of the bar that ended a setup of the log."""
        bars, version = self.versions[key]
        close = price(float(bars.close[version["end"]]))
        return PricePoint(date=to_date(bars.date[version["end"]]), price=close)

    def last_close(self, key: TradeKey, day: dt.date, close: float) -> float:
        """The newest close of a setup's series, in the scale in which that of `day` was `close`;
        `close` itself if the bars do not have the setup or the day.
        """
        if key not in self.versions:
            return close
        bars, _ = self.versions[key]
        place = int(np.searchsorted(bars.date, to_day(day)))
        if place == len(bars) or to_date(bars.date[place]) != day:
            return close
        return price(float(bars.close[-1]) * close / float(bars.close[place]))

    def trade(self, key: TradeKey, after: dt.date) -> ServedOutcome | FollowedTrade | None:
        """The trade of a setup that triggered after a day, as the bars resolve it."""
        if key not in self.trades:
            return None
        bars, row = self.trades[key]
        view = TradeView.over(bars, row)
        if view.entry_date <= after:
            return None
        kind = int(self.versions[key][1]["type"])
        trade = FollowedTrade(
            **key._asdict(),
            family=family_of_type(kind),
            pattern_type=type_name(kind),
            direction=view.direction,
            terms=_terms(view),
            last_session=to_date(bars.date[-1]),
            last_close=price(float(bars.close[-1])),
        )
        return trade if view.outcome == "open" else _outcome(trade, view)


def resolved(
    trade: FollowedTrade, logs: Sequence[Lineages], *, delisted: bool
) -> ServedOutcome | FollowedTrade:
    """The outcome of a trade by the bars after its last session, or the trade itself, still open.

    `logs` are of the symbol's series, oldest first. The trade stays in the series of its last
    session, since prices of another one cannot be compared with it. If the symbol was `delisted`,
    a trade that the newest series leaves open closes at the last close. Bars that end before the
    last session, as of a file cut short, tell nothing.
    """
    day = to_day(trade.last_session)
    if not logs or (logs[-1].bars.date[-1] < day and not delisted):
        return trade
    begun = [part.bars for part in logs if part.bars.date[0] <= day]
    if not begun:
        return trade
    bars, last = begun[-1], len(begun[-1]) - 1
    place = int(np.searchsorted(bars.date, day, side="right")) - 1
    ratio = _ratio(trade, bars, place)
    rows = _rescaled(trade, ratio, place)
    resolve(bars, rows)
    row = rows[0]
    entered = to_day(trade.terms.entry_date) < bars.date[last]
    if row["outcome"] == Outcome.OPEN and delisted and len(begun) == len(logs) and entered:
        row["outcome"], row["exit"], row["exit_price"] = Outcome.DELISTED, last, bars.close[last]
    left, close = to_date(bars.date[row["exit"]]), float(bars.close[-1])
    view = TradeView.of(row, trade.terms.entry_date, left, close)
    if view.outcome == "open":
        return _still_open(trade, view, bars, ratio)
    return _outcome(trade, view)


def same_terms(one: Terms, other: Terms) -> bool:
    """Whether two trades have the same terms but for rounding.

    These tell the direction too: the target of a bullish trade is above its stop.
    """
    return one.entry_date == other.entry_date and all(
        _same(getattr(one, name), getattr(other, name))
        for name in ("entry_price", "stop_price", "target_price")
    )


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


def _rescaled(trade: FollowedTrade, ratio: float, place: int) -> Rows:
    """The trade at the night's scale, as if it had been entered at the bar `place`: one row."""
    row = np.zeros(1, TRADE)
    row["entry"] = place
    row["direction"] = 1 if trade.direction == "bullish" else -1
    for name in ("entry_price", "stop_price", "target_price"):
        row[name] = getattr(trade.terms, name) * ratio
    row["exit"], row["exit_price"], row["outcome"] = -1, np.nan, Outcome.OPEN
    return row


def _terms(view: TradeView) -> Terms:
    return Terms(**{name: getattr(view, name) for name in Terms.model_fields})


def _still_open(trade: FollowedTrade, view: TradeView, bars: Bars, ratio: float) -> FollowedTrade:
    anchor = trade.anchor
    later = {
        "terms": _terms(view),
        "last_session": to_date(bars.date[-1]),
        "last_close": price(float(bars.close[-1])),
        "anchor": anchor and PricePoint(date=anchor.date, price=price(anchor.price * ratio)),
    }
    return trade.model_copy(update=later)


def _outcome(trade: FollowedTrade, view: TradeView) -> ServedOutcome:
    return ServedOutcome(
        **trade.key._asdict(),
        family=trade.family,
        pattern_type=trade.pattern_type,
        direction=trade.direction,
        terms=_terms(view),
        **{name: getattr(view, name) for name in EXIT},
    )
