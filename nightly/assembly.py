"""Assembly: combines the analyses of all symbols into the records of one night."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from nightly.analysis import Analysis
from nightly.bars import to_date
from nightly.events import Outcome, Rows
from nightly.formations import Formation
from nightly.history import FACTS
from nightly.method import method
from nightly.patterns import FAMILIES
from nightly.reference import Listing
from nightly.scan import Candidate
from nightly.statistics import Sample, expected_r, reached_pct, track_record
from store.families import Family
from store.records import AsServed, FamilyEntry, TrackRecord, TrackRecords


@dataclass(frozen=True, slots=True)
class FamilyFacts:
    """The statistics of a family's trades over all symbols."""

    record: TrackRecord | None
    placebo_pct: float | None
    expected_r: float | None
    """Not rounded, because it is the prior of its tickers; None without a resolved trade."""
    win_in_atrs: float | None
    """The median win in ATRs at entry, or that of all families if it has no win, or None."""


class Statistics:
    """Track records of every family and of every ticker in it."""

    def __init__(
        self,
        analyses: Sequence[Analysis],
        as_of: dt.date,
        detector: int,
        as_served: Mapping[Family, AsServed] = MappingProxyType({}),
    ) -> None:
        self._as_of = as_of
        self._as_served = as_served
        self._detector = detector
        facts = [analysis.facts for analysis in analyses]
        trades = np.concatenate(facts) if facts else np.empty(0, FACTS)
        scored = [a.scored_from for a in analyses if a.scored_from is not None]
        self._start = to_date(min(scored)) if scored else as_of
        self._pooled = _win_in_atrs(trades) if len(trades) else None
        self._families = {family: self._family(family, trades) for family in Family}
        self.method = method(
            trades,
            fates=Counter(a.fate for a in analyses if a.bars),
            start=self._start,
            as_of=as_of,
        ).model_copy(update={"as_served": list(as_served.items())})

    def _family(self, family: Family, trades: Rows) -> FamilyFacts:
        mine = _of_family(trades, family)
        sample = Sample(family, None, mine, self._start, self._as_of, self._detector)
        resolved = sample.resolved
        placebo = reached_pct(resolved)
        return FamilyFacts(
            record=track_record(sample, placebo),
            placebo_pct=placebo,
            expected_r=expected_r(resolved["r"]) if len(resolved) else None,
            win_in_atrs=_win_in_atrs(mine) or self._pooled,
        )

    def family(self, family: Family) -> FamilyFacts:
        """The statistics of one family."""
        return self._families[family]

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

    def resolved(self) -> int:
        """The number of resolved first attempts in all family records."""
        records = [facts.record for facts in self._families.values()]
        return sum(record.sample_size for record in records if record)

    def candidates(self, analysis: Analysis) -> list[Candidate]:
        """A symbol's setups with their records, in serving order."""
        return [self._candidate(analysis, formation) for formation in analysis.formations]

    def _candidate(self, analysis: Analysis, formation: Formation) -> Candidate:
        family = self._families[formation.family]
        mine = _of_family(analysis.facts, formation.family)
        start = to_date(analysis.scored_from) if analysis.scored_from else self._as_of
        sample = Sample(formation.family, analysis.symbol, mine, start, self._as_of, self._detector)
        ticker = track_record(sample, family.placebo_pct, family.expected_r or 0.0)
        assert analysis.features is not None  # noqa: S101 - a covered symbol has features
        return Candidate(
            formation=formation,
            records=TrackRecords(family=family.record, ticker=ticker),
            ticker_facts=sample.resolved,
            win_in_atrs=family.win_in_atrs,
            family_r=family.expected_r,
            listing=analysis.listing,
            features=analysis.features,
        )


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
        "country": listing.country,
    }
