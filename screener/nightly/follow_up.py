"""Follow-up: what a night adds to the ledger, and what it takes from the last night in it."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

from screener.nightly.results.symbol_results import Analysis
from screener.nightly.results.transitions import (
    Current,
    Previous,
    SymbolFollowUp,
    follow_up,
    served_setup,
)
from screener.nightly.results.views import multiple, percent
from screener.nightly.statistics.summary import wilson
from store.ledger.ledger import Ledger, NightEntry
from store.ledger.objects import NightHead
from store.ledger.served import (
    FollowedTrade,
    Line,
    ServedChange,
    ServedSetup,
    SettledTrade,
    Tally,
    Totals,
)
from store.wire.currency import DOLLARS
from store.wire.families import Family
from store.wire.records import AsServed, Change
from store.wire.words import FEW

OF_DETECTOR: Final = ("new", "expired")
"""Changes that another detector makes, whatever the market did."""


@dataclass(frozen=True, slots=True)
class PreviousNight:
    """The night that is compared with: the last one of an earlier session."""

    head: NightHead
    symbols: Mapping[str, Previous]
    """What it served, and what was followed on it, by symbol."""

    @classmethod
    def of(cls, ledger: Ledger, session: dt.date, *, sample: bool) -> PreviousNight | None:
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

    def of_symbols(self, symbols: Iterable[str]) -> dict[str, Previous]:
        """What it served of some symbols, each of which may have nothing."""
        return {symbol: self.symbols.get(symbol, Previous(self.session)) for symbol in symbols}

    def without(self, analysed: set[str]) -> Iterator[SymbolFollowUp]:
        """What became of the symbols that the source lacks now."""
        for symbol in sorted(self.symbols.keys() - analysed):
            yield follow_up(self.symbols[symbol], Current())


@dataclass(frozen=True, slots=True)
class FollowUp:
    """What became of everything that was served, over all symbols."""

    as_of: dt.date
    last: PreviousNight | None
    changes: Sequence[Change]
    lines: Sequence[Line]
    """The setups that the night serves, the outcomes, and the followed and the settled trades."""
    tally: Tally
    running: Mapping[Family, int]
    """First attempts that were entered after the first night, served, and are still open."""
    detector_changed: bool = False
    """Whether the last night is of another detector: what it alone served, or this one alone, says
    nothing about the market then, and is no change.
    """

    @classmethod
    def of(
        cls,
        analyses: Sequence[Analysis],
        as_of: dt.date,
        last: PreviousNight | None,
        detector: int,
    ) -> FollowUp:
        """Collect what the analyses hold, and what became of symbols without one."""
        gone = last.without({analysis.symbol for analysis in analyses}) if last else ()
        symbols = [*filter(None, (analysis.follow_up for analysis in analyses)), *gone]
        outcomes = [outcome for symbol in symbols for outcome in symbol.outcomes]
        followed = [trade for symbol in symbols for trade in symbol.followed]
        settled = [trade for symbol in symbols for trade in symbol.settled]
        quoted = {analysis.symbol: analysis.currency for analysis in analyses}
        formations = [one for analysis in analyses for one in analysis.formations]
        quality = {one.setup.setup_id: one.setup.quality_pct for one in formations}
        another = last is not None and last.head.detector != detector
        changes = [
            change.model_copy(
                update={
                    "currency": quoted.get(change.symbol, DOLLARS),
                    "quality_pct": quality.get(change.setup_id or ""),
                }
            )
            for symbol in symbols
            for change in symbol.changes
            if not (another and change.change in OF_DETECTOR)
        ]
        frozen = dict(chain.from_iterable(symbol.frozen.items() for symbol in symbols))
        setups = [served_setup(formation, frozen) for formation in formations]
        tally = last.head.as_served if last else Tally.begun(as_of)
        ended = {trade.key for trade in settled}
        served = filter(None, (setup.trade() for setup in setups if setup.key not in ended))
        return cls(
            as_of=as_of,
            last=last,
            changes=sorted(changes, key=lambda change: change.symbol),
            lines=[*setups, *outcomes, *followed, *settled],
            tally=tally.plus(outcomes),
            running=Counter(
                trade.family
                for trade in chain(followed, served)
                if trade.attempt == 1 and trade.terms.entry_date > tally.first_session
            ),
            detector_changed=another,
        )

    def as_served(self) -> dict[Family, AsServed]:
        """The record as served of each family with enough trades."""
        return {
            family: self._record(family, totals)
            for family, totals in self.tally.families.items()
            if totals.trades >= FEW
        }

    def entry(self, *, detector: int, method: int, now: dt.datetime) -> NightEntry:
        """What the night adds to the ledger."""
        # The ledger has the lines of every setup where it was served.
        told = [{name: getattr(one, name) for name in Change.model_fields} for one in self.changes]
        changes = [ServedChange(**fields) for fields in told]
        return NightEntry(
            detector=detector,
            method_version=method,
            published_at=now,
            since=self.last.head.number if self.last else None,
            as_served=self.tally,
            lines=[*self.lines, *changes],
        )

    def _record(self, family: Family, totals: Totals) -> AsServed:
        first, running = self.tally.first_session, self.running.get(family, 0)
        low, high = wilson(totals.wins, totals.trades)
        rate = percent(100 * totals.wins / totals.trades)
        stopped = totals.losses - totals.delisted
        won = percent(totals.win_pct / totals.wins) if totals.wins else None
        lost = percent(totals.loss_pct / stopped) if stopped else None
        win = "no win" if won is None else f"average win {won:+.2f}%"
        loss = "no stopped trade" if lost is None else f"average loss {lost:.2f}%"
        return AsServed(
            sample_size=totals.trades,
            wins=totals.wins,
            losses=totals.losses,
            win_rate_pct=rate,
            win_rate_ci95=[percent(100 * low), percent(100 * high)],
            avg_win_pct=won,
            avg_loss_pct=lost,
            avg_r=multiple(totals.r / totals.trades),
            open=running,
            first_session=first,
            last_session=self.as_of,
            summary=(
                f"{family.label}, as served: of {totals.trades:,} trades that were entered after "
                f"{first}, and that nights to {self.as_of} served before they ended, {rate:.2f}% "
                f"reached the target; {win}, {loss}; {running:,} are open; trades that triggered "
                "and ended between two nights are not counted."
            ),
        )


def _by_symbol(head: NightHead, lines: Iterable[Line]) -> dict[str, Previous]:
    by_symbol: dict[str, list[Line]] = {}
    for line in lines:
        by_symbol.setdefault(line.symbol, []).append(line)
    return {
        symbol: Previous(
            head.as_of_session,
            [line for line in mine if isinstance(line, ServedSetup)],
            [line for line in mine if isinstance(line, FollowedTrade)],
            [line for line in mine if isinstance(line, SettledTrade)],
        )
        for symbol, mine in by_symbol.items()
    }
