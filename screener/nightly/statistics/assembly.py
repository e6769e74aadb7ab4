"""Assembly: combines the analyses of all symbols into the records of one night."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Final

from screener.nightly.bars import to_date, to_day
from screener.nightly.results.returns import Returns
from screener.nightly.results.setups import Formation
from screener.nightly.results.symbol_results import Analysis
from screener.nightly.results.views import FAMILIES
from screener.nightly.statistics.groups import Group, ResolvedTrades
from screener.nightly.statistics.market import MarketDays
from screener.nightly.statistics.method import method, shown
from screener.nightly.statistics.records import Directions, Scope, track_record
from screener.nightly.statistics.scan import RankedSetup
from screener.nightly.statistics.summary import UNTESTED, GroupSummary
from store.wire.families import Direction, Family
from store.wire.records import AsServed, FamilyEntry, TrackRecord, TrackRecords
from store.wire.words import FEW

LISTED: Final = ("symbol", "name", "asset_type", "exchange", "industry", "sector", "country")
"""What the universe has of a listing."""


class Statistics:
    """Track records of every family and of every ticker in it."""

    def __init__(
        self,
        analyses: Sequence[Analysis],
        returns: Returns,
        as_of: dt.date,
        detector: int,
        as_served: Mapping[Family, AsServed],
    ) -> None:
        self._as_of = as_of
        self._as_served = as_served
        self._detector = detector
        scored = [a.scored_from for a in analyses if a.scored_from is not None]
        start = to_date(min(scored)) if scored else as_of
        market = MarketDays.of(returns, to_day(start))
        self._trades = ResolvedTrades.of([(a.symbol, a.facts) for a in analyses], market)
        groups = chain(shown(self._trades), map(Group.of_record, Family), self._tickers(analyses))
        self._conclusions = self._trades.tested(groups)
        self._pooled = GroupSummary(self._trades.facts)
        self._families = {family: self._summary(family) for family in Family}
        self._directions = {family: self._by_direction(family) for family in Family}
        self._records = {family: self._family_record(family, start) for family in Family}
        self.method = method(
            self._trades,
            self._conclusions,
            open_trades=sum(len(a.facts) for a in analyses) - len(self._trades.facts),
            fates=Counter(a.fate for a in analyses if a.bars),
            start=start,
            as_of=as_of,
            as_served=as_served,
        )

    def entries(self) -> list[FamilyEntry]:
        """The five families with their records, in their fixed order."""
        return [
            FamilyEntry(
                family=family,
                label=family.label,
                track_record=record,
                as_served=self._as_served.get(family),
            )
            for family, record in self._records.items()
        ]

    def records(self, analysis: Analysis) -> list[TrackRecord]:
        """A symbol's own records: one for each family in which it has a resolved trade."""
        families = self._families_of(analysis.symbol)
        records = (self._ticker_record(analysis, family) for family in families)
        return [record for record in records if record]

    def ranked(self, analysis: Analysis) -> list[RankedSetup]:
        """A symbol's setups with their records, in serving order."""
        return [self._ranked(analysis, formation) for formation in analysis.formations]

    def _ranked(self, analysis: Analysis, formation: Formation) -> RankedSetup:
        family, direction = formation.setup.family, formation.setup.direction
        ticker = self._ticker_record(analysis, family, direction)
        records = TrackRecords(family=self._records[family], ticker=ticker)
        assert analysis.features is not None  # noqa: S101 - a covered symbol has features
        return RankedSetup(
            formation=formation,
            setup=formation.setup.model_copy(update={"track_record": records}),
            ticker=self._summary(family, direction, analysis.symbol),
            family=self._directions[family][direction],
            pooled=self._pooled,
            listing=analysis.listing,
            features=analysis.features,
        )

    def _family_record(self, family: Family, start: dt.date) -> TrackRecord | None:
        symbols = self._trades.symbols(Group(family))
        scope = Scope(family, None, start, self._as_of, self._detector, symbols)
        directions = self._directions[family]
        return track_record(scope, self._families[family], directions, directions)

    def _ticker_record(
        self, analysis: Analysis, family: Family, direction: Direction | None = None
    ) -> TrackRecord | None:
        """The record of a symbol in a family; None without a trade.

        Its expected R is that of a direction, since the two differ, or without one that of all.
        """
        symbol = analysis.symbol
        start = to_date(analysis.scored_from) if analysis.scored_from else self._as_of
        scope = Scope(family, symbol, start, self._as_of, self._detector)
        whole = self._summary(family, None, symbol)
        sides = self._by_direction(family, symbol) if family.both_ways else {}
        expected = sides[direction].expected_r if direction and sides else None
        return track_record(scope, whole, sides, self._directions[family], expected)

    def _by_direction(self, family: Family, symbol: str | None = None) -> Directions:
        return {way: self._summary(family, way, symbol) for way in family.directions}

    def _summary(
        self, family: Family, direction: Direction | None = None, symbol: str | None = None
    ) -> GroupSummary:
        """The trades of a family or of a ticker in it, whose prior is the family's expected R."""
        group = Group.of_record(family, direction, symbol)
        prior = 0.0
        if symbol is not None:
            of_all = self._directions[family][direction] if direction else self._families[family]
            prior = of_all.expected_r
        return GroupSummary(self._trades.rows(group), self._conclusions.get(group, UNTESTED), prior)

    def _tickers(self, analyses: Sequence[Analysis]) -> Iterator[Group]:
        """The groups of the records of covered symbols, but for some that have too few trades."""
        for analysis in analyses:
            if analysis.covered and len(self._trades.of_symbol(analysis.symbol)) >= FEW:
                for family in self._families_of(analysis.symbol):
                    for direction in (None, *family.directions):
                        yield Group.of_record(family, direction, analysis.symbol)

    def _families_of(self, symbol: str) -> list[Family]:
        """The families in which a symbol has a resolved trade, in their fixed order."""
        numbers = set(self._trades.of_symbol(symbol)["family"].tolist())
        return [FAMILIES[number] for number in sorted(numbers)]


def universe(analyses: Sequence[Analysis]) -> Iterator[Mapping[str, str | None]]:
    """The entries of the universe: the reference data of every covered symbol."""
    for analysis in analyses:
        if analysis.covered:
            yield {name: getattr(analysis.listing, name) for name in LISTED}
