"""Served: what a night adds to the ledger, and what it takes from the last night in it."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain

from nightly import intervals
from nightly.analysis import Analysis
from nightly.formations import Formation
from nightly.numbers import multiple, percent
from nightly.scan import Candidate
from nightly.since import Earlier, Since, Tonight, since
from store.ledger.ledger import Ledger, NightEntry
from store.ledger.objects import NightHead
from store.ledger.served import (
    FollowedTrade,
    ServedChange,
    ServedLines,
    ServedSetup,
    SettledTrade,
    Tally,
    Totals,
    TradeKey,
)
from store.ledger.served import Line as LedgerLine
from store.wire.families import Family
from store.wire.records import AsServed, Change, Line, PricePoint
from store.wire.words import FEW


@dataclass(frozen=True, slots=True)
class LastNight:
    """The night that tonight is compared with."""

    head: NightHead
    symbols: Mapping[str, Earlier]
    """What it served, and what was followed on it, by symbol."""

    @classmethod
    def of(cls, ledger: Ledger, session: dt.date, *, sample: bool) -> LastNight | None:
        """The last night of an earlier session in the ledger; None if there is none.

        Raises:
            LedgerError: its object is damaged.
        """
        earlier = ledger.before(session, sample=sample)
        return cls(earlier[0], _by_symbol(*earlier)) if earlier else None

    @property
    def session(self) -> dt.date:
        """Its session."""
        return self.head.as_of_session

    @property
    def version(self) -> str:
        """Its data version."""
        return self.head.data_version

    def of_symbols(self, symbols: Iterable[str]) -> dict[str, Earlier]:
        """What it served of some symbols, each of which may have nothing."""
        return {symbol: self.symbols.get(symbol, Earlier(self.session)) for symbol in symbols}

    def without(self, analysed: set[str]) -> Iterator[Since]:
        """What became of the symbols that the source lacks tonight."""
        for symbol in sorted(self.symbols.keys() - analysed):
            yield since(symbol, self.symbols[symbol], Tonight())


@dataclass(frozen=True, slots=True)
class FollowUp:
    """What became of everything that was served, over all symbols."""

    as_of: dt.date
    last: LastNight | None
    changes: Sequence[Change]
    lines: Sequence[LedgerLine]
    """The outcomes, the followed and the settled trades."""
    frozen: Mapping[TradeKey, FollowedTrade]
    tally: Tally
    running: Mapping[Family, int]
    """First attempts that were entered after the first night, served, and are still open."""

    @classmethod
    def of(cls, analyses: Sequence[Analysis], as_of: dt.date, last: LastNight | None) -> FollowUp:
        """Collect what the analyses found, and what became of symbols without one."""
        analysed = {analysis.symbol for analysis in analyses}
        gone = last.without(analysed) if last else ()
        found = [*filter(None, (analysis.since for analysis in analyses)), *gone]
        outcomes = [outcome for one in found for outcome in one.outcomes]
        followed = [trade for one in found for trade in one.followed]
        settled = [trade for one in found for trade in one.settled]
        tally = last.head.as_served if last else Tally.begun(as_of)
        changes = [change for one in found for change in one.changes]
        frozen = dict(chain.from_iterable(one.frozen.items() for one in found))
        over = {trade.key for trade in settled}
        ran = [*followed, *_trades(analyses, frozen, over)]
        return cls(
            as_of=as_of,
            last=last,
            changes=sorted(changes, key=lambda change: change.symbol),
            lines=[*outcomes, *followed, *settled],
            frozen=frozen,
            tally=tally.plus(outcomes),
            running=_running(ran, tally.first_session),
        )

    def as_served(self) -> dict[Family, AsServed]:
        """The record as served of each family with enough trades."""
        return {
            family: _as_served(family, totals, self)
            for family, totals in self.tally.families.items()
            if totals.trades >= FEW
        }

    def entry(
        self, candidates: Sequence[Candidate], *, detector: int, method: int, now: dt.datetime
    ) -> NightEntry:
        """What the night adds to the ledger."""
        setups = [served_setup(candidate.formation, self.frozen) for candidate in candidates]
        changes = [ServedChange(**dict(change)) for change in self.changes]
        return NightEntry(
            detector=detector,
            method_version=method,
            published_at=now,
            since=self.last.head.number if self.last else None,
            as_served=self.tally,
            lines=[*setups, *self.lines, *changes],
        )


def _by_symbol(head: NightHead, lines: Iterable[LedgerLine]) -> dict[str, Earlier]:
    setups: dict[str, list[ServedSetup]] = {}
    followed: dict[str, list[FollowedTrade]] = {}
    settled: dict[str, list[SettledTrade]] = {}
    for line in lines:
        if isinstance(line, ServedSetup):
            setups.setdefault(line.symbol, []).append(line)
        elif isinstance(line, FollowedTrade):
            followed.setdefault(line.symbol, []).append(line)
        elif isinstance(line, SettledTrade):
            settled.setdefault(line.symbol, []).append(line)
    return {
        symbol: Earlier(
            head.as_of_session,
            setups.get(symbol, ()),
            followed.get(symbol, ()),
            settled.get(symbol, ()),
        )
        for symbol in setups.keys() | followed.keys() | settled.keys()
    }


def _trades(
    analyses: Sequence[Analysis], frozen: Mapping[TradeKey, FollowedTrade], over: Set[TradeKey]
) -> Iterator[FollowedTrade]:
    """The trades that are served tonight and are not resolved, as they were first served."""
    formations = chain.from_iterable(analysis.formations for analysis in analyses)
    running = (formation for formation in formations if formation.status == "in_progress")
    trades = (served_setup(formation, frozen).trade() for formation in running)
    return (trade for trade in trades if trade and trade.key not in over)


def _running(trades: Iterable[FollowedTrade], first: dt.date) -> Counter[Family]:
    return Counter(
        trade.family for trade in trades if trade.attempt == 1 and trade.terms.entry_date > first
    )


def _attempt(evidence: Mapping[str, float | int | str]) -> int:
    return int(evidence["attempt"])


def served_setup(formation: Formation, frozen: Mapping[TradeKey, FollowedTrade]) -> ServedSetup:
    """The line of a setup that is served tonight."""
    fields, evidence = formation.fields, formation.evidence
    key = TradeKey(fields["symbol"], fields["lineage_id"], _attempt(evidence))
    lines = fields["lines"]
    entered = "entry_date" in evidence
    return ServedSetup(
        **key._asdict(),
        setup_id=fields["setup_id"],
        family=fields["family"],
        pattern_type=fields["pattern_type"],
        direction=fields["direction"],
        status=fields["status"],
        last_session=fields["as_of_session"],
        last_close=fields["last_close"],
        lines=ServedLines(upper=_ends(lines.upper), lower=_ends(lines.lower)),
        plans=fields["plans"],
        entry_date=dt.date.fromisoformat(str(evidence["entry_date"])) if entered else None,
        entry_price=float(evidence["entry_price"]) if entered else None,
        anchor=next(iter(lines.upper.touches), None) if entered else None,
        frozen=frozen.get(key) if entered else None,
    )


def _ends(line: Line) -> list[PricePoint]:
    return [line.start, line.end]


def _as_served(family: Family, totals: Totals, found: FollowUp) -> AsServed:
    low, high = intervals.wilson(totals.wins, totals.trades)
    stopped = totals.losses - totals.delisted
    record = AsServed(
        sample_size=totals.trades,
        wins=totals.wins,
        losses=totals.losses,
        win_rate_pct=percent(100 * totals.wins / totals.trades),
        win_rate_ci95=[percent(100 * low), percent(100 * high)],
        avg_win_pct=percent(totals.win_pct / totals.wins) if totals.wins else None,
        avg_loss_pct=percent(totals.loss_pct / stopped) if stopped else None,
        avg_r=multiple(totals.r / totals.trades),
        open=found.running.get(family, 0),
        first_session=found.tally.first_session,
        last_session=found.as_of,
        summary="",
    )
    return record.model_copy(update={"summary": _summary(family, record)})


def _summary(family: Family, record: AsServed) -> str:
    won, lost = record.avg_win_pct, record.avg_loss_pct
    win = "no win" if won is None else f"average win {won:+.2f}%"
    loss = "no stopped trade" if lost is None else f"average loss {lost:.2f}%"
    return (
        f"{family.label}, as served: of {record.sample_size} trades that were entered after "
        f"{record.first_session}, and that nights to {record.last_session} served before they "
        f"ended, {record.win_rate_pct:.2f}% reached the target; {win}, {loss}; {record.open} are "
        "open; trades that triggered and ended between two nights are not counted."
    )
