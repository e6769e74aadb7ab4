"""Assembly: combines the analyses of all symbols into the records of one night."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from types import MappingProxyType

import numpy as np

from nightly.analysis import Analysis
from nightly.bars import to_date, to_day
from nightly.events import Outcome, Rows
from nightly.formations import Formation
from nightly.groups import SIGNS, Group, Trades, group_of
from nightly.market import Market, Returns
from nightly.method import method, shown
from nightly.patterns import FAMILIES
from nightly.reference import Listing
from nightly.scan import Candidate
from nightly.statistics import (
    Placebo,
    Sample,
    expected_r,
    placebo_of,
    side_record,
    track_record,
)
from store.wire.families import Direction, Family
from store.wire.records import AsServed, FamilyEntry, SideRecord, TrackRecord, TrackRecords


@dataclass(frozen=True, slots=True)
class FamilySide:
    """The statistics of a family's trades in one direction over all symbols."""

    record: SideRecord | None
    expected_r: float | None
    """Not rounded, because it is the prior of its tickers; None without a resolved trade."""
    win_in_atrs: float | None
    """The median win in ATRs at entry, or that of all families if it has no win, or None."""


@dataclass(frozen=True, slots=True)
class FamilyFacts:
    """The statistics of a family's trades over all symbols."""

    record: TrackRecord | None
    placebo: Placebo
    expected_r: float
    """Of both directions, not rounded; 0 without a resolved trade."""
    sides: Mapping[Direction, FamilySide]


class Statistics:
    """Track records of every family and of every ticker in it."""

    def __init__(
        self,
        analyses: Sequence[Analysis],
        returns: Returns,
        as_of: dt.date,
        detector: int,
        as_served: Mapping[Family, AsServed] = MappingProxyType({}),
    ) -> None:
        self._as_of = as_of
        self._as_served = as_served
        self._detector = detector
        scored = [a.scored_from for a in analyses if a.scored_from is not None]
        self._start = to_date(min(scored)) if scored else as_of
        market = Market.of(returns, to_day(self._start))
        trades = Trades.of([(a.symbol, a.facts) for a in analyses], market)
        groups = [group for group, _ in shown(trades)]
        self._tested = trades.tested(chain(groups, _record_groups(analyses)))
        self._pooled = _win_in_atrs(trades.facts)
        self._families = {family: self._family(family, trades.facts) for family in Family}
        self.method = method(
            trades,
            self._tested,
            open_trades=sum(len(a.facts) for a in analyses) - len(trades.facts),
            fates=Counter(a.fate for a in analyses if a.bars),
            start=self._start,
            as_of=as_of,
        ).model_copy(update={"as_served": list(as_served.items())})

    def _family(self, family: Family, trades: Rows) -> FamilyFacts:
        sample = self._sample(family, None, _of_family(trades, family), self._start, {})
        placebo = placebo_of(sample)
        return FamilyFacts(
            record=track_record(sample, placebo),
            placebo=placebo,
            expected_r=expected_r(sample.facts["r"]),
            sides={direction: self._side(sample, direction) for direction in SIGNS},
        )

    def _side(self, sample: Sample, direction: Direction) -> FamilySide:
        facts = sample.side(direction)
        return FamilySide(
            record=side_record(sample, direction),
            expected_r=expected_r(facts["r"]) if len(facts) else None,
            win_in_atrs=_win_in_atrs(facts) or self._pooled,
        )

    def _sample(
        self,
        family: Family,
        symbol: str | None,
        facts: Rows,
        start: dt.date,
        priors: Mapping[Direction, float],
    ) -> Sample:
        return Sample(
            family, symbol, facts, start, self._as_of, self._tested, self._detector, priors
        )

    def entries(self) -> list[FamilyEntry]:
        """The five families with their records, in their fixed order."""
        return [
            FamilyEntry(
                family=f,
                label=f.label,
                track_record=self._families[f].record,
                as_served=self._as_served.get(f),
            )
            for f in Family
        ]

    def records(self, analysis: Analysis) -> list[TrackRecord]:
        """A symbol's own records: one for each family in which it has a resolved trade."""
        samples = (self._ticker(analysis, family) for family in _traded(analysis))
        return [record for sample in samples if (record := self._ticker_record(sample))]

    def _ticker(self, analysis: Analysis, family: Family) -> Sample:
        """The trades of a symbol in a family."""
        start = to_date(analysis.scored_from) if analysis.scored_from else self._as_of
        mine = _of_family(_resolved(analysis), family)
        sides = self._families[family].sides
        priors = {way: side.expected_r or 0.0 for way, side in sides.items()}
        return self._sample(family, analysis.symbol, mine, start, priors)

    def _ticker_record(
        self, sample: Sample, direction: Direction | None = None
    ) -> TrackRecord | None:
        """The record of a symbol in a family; None without a trade.

        Its expected R is that of a direction, since the two differ. Without one it is that of all
        trades, which in a family that is traded one way is the same.
        """
        family = self._families[sample.family]
        if direction is None and not sample.family.both_ways:
            (direction,) = sample.family.directions
        if direction is None:
            expected = expected_r(sample.facts["r"], family.expected_r)
        else:
            expected = expected_r(sample.side(direction)["r"], sample.priors[direction])
        return track_record(sample, family.placebo, expected)

    def candidates(self, analysis: Analysis) -> list[Candidate]:
        """A symbol's setups with their records, in serving order."""
        return [self._candidate(analysis, formation) for formation in analysis.formations]

    def _candidate(self, analysis: Analysis, formation: Formation) -> Candidate:
        family, direction = self._families[formation.family], formation.direction
        sample = self._ticker(analysis, formation.family)
        side, own = family.sides[direction], sample.side(direction)
        assert analysis.features is not None  # noqa: S101 - a covered symbol has features
        return Candidate(
            formation=formation,
            records=TrackRecords(
                family=family.record, ticker=self._ticker_record(sample, direction)
            ),
            ticker_facts=own,
            ticker_side=side_record(sample, direction),
            family_side=side.record,
            expected_r=expected_r(own["r"], sample.priors[direction]) if side.record else None,
            win_in_atrs=side.win_in_atrs,
            listing=analysis.listing,
            features=analysis.features,
        )


def _record_groups(analyses: Sequence[Analysis]) -> Iterator[Group]:
    """The groups of all records that the night serves: of families, and of covered symbols."""
    for family in Family:
        yield group_of(family)
    for analysis in analyses:
        for family in _traded(analysis) if analysis.covered else ():
            for direction in (None, *family.directions):
                yield group_of(family, direction, analysis.symbol)


def _traded(analysis: Analysis) -> list[Family]:
    """The families in which a symbol has a resolved trade, in their fixed order."""
    return [FAMILIES[number] for number in np.unique(_resolved(analysis)["family"])]


def _resolved(analysis: Analysis) -> Rows:
    trades: Rows = analysis.facts[analysis.facts["outcome"] != Outcome.OPEN]
    return trades


def _of_family(facts: Rows, family: Family) -> Rows:
    mine: Rows = facts[facts["family"] == FAMILIES.index(family)]
    return mine


def _win_in_atrs(facts: Rows) -> float | None:
    won = facts[facts["outcome"] == Outcome.WIN]
    return float(np.median(won["realized_pct"] / won["atr_pct"])) if len(won) else None


def universe(analyses: Sequence[Analysis]) -> Iterator[Mapping[str, str | None]]:
    """The entries of the universe: the reference data of every covered symbol."""
    for analysis in analyses:
        if analysis.covered:
            yield universe_entry(analysis.listing)


def universe_entry(listing: Listing) -> dict[str, str | None]:
    """One entry of the universe."""
    return {
        "symbol": listing.symbol,
        "name": listing.name,
        "asset_type": listing.asset_type,
        "exchange": listing.exchange,
        "industry": listing.industry,
        "sector": listing.sector,
        "country": listing.country,
    }
