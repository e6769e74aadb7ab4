"""The report of a night: what it found in the bars, which symbols it refused, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from screener.nightly.bars import Adjustment
from screener.nightly.errors import by_code, by_rule
from screener.nightly.follow_up import FollowUp
from screener.nightly.plan import NightPlan, grouped
from screener.nightly.results.symbol_results import Analysis
from screener.nightly.statistics.assembly import Statistics
from screener.nightly.statistics.scan import RankedSetup
from store.wire.currency import DOLLARS
from store.wire.families import Family
from store.wire.records import FamilyEntry


@dataclass(frozen=True, slots=True)
class Report:
    """The report that the operator reads after a night."""

    bars: int
    covered: int
    refused: Mapping[str, Mapping[str, str]]
    """By refusal code: the refused symbols, each with its reason."""
    found: Mapping[str, Mapping[str, int]]
    """By symbol: how many of its bars each rule affected."""
    forming: Mapping[Family, int]
    running: Mapping[Family, int]
    families: Sequence[FamilyEntry]
    dividend_adjusted: int
    """How many symbols have dividend-adjusted bars, whose history moves with every dividend."""
    walks: Mapping[str, Sequence[str]]
    """The symbols by how their walk began. Not in the book, whose bytes do not depend on it."""
    assumed_dollars: int
    """Symbols of which nothing says that their prices are in dollars."""
    assumed_currencies: Mapping[str, int]
    """By another currency: the symbols that have it by the custom of their exchange alone."""
    chosen: NightPlan
    """The book keeps what was inferred of symbols, and the `wider` session if there is one."""
    follow_up: FollowUp
    """The changes since the last night, which the book keeps elsewhere."""

    @classmethod
    def of(
        cls,
        analyses: Sequence[Analysis],
        statistics: Statistics,
        ranked: Sequence[RankedSetup],
        adjustment: Adjustment,
        chosen: NightPlan,
        follow_up: FollowUp,
    ) -> Report:
        """The report over all analysed symbols."""
        refused_symbols = {a.symbol: a.refusal for a in analyses if a.refusal}
        assumed = Counter(a.currency for a in analyses if a.bars and not a.currency_known)
        return cls(
            bars=sum(analysis.bars for analysis in analyses),
            covered=sum(analysis.covered for analysis in analyses),
            refused=by_code({**refused_symbols, **chosen.refused}),
            found={a.symbol: a.findings for a in analyses if a.findings},
            forming=_by_family(ranked, "forming"),
            running=_by_family(ranked, "in_progress"),
            families=statistics.entries(),
            dividend_adjusted=sum(
                (a.adjustment or adjustment) == "split+div" for a in analyses if a.bars
            ),
            assumed_dollars=assumed.pop(DOLLARS, 0),
            assumed_currencies=assumed,
            walks=grouped((analysis.began, analysis.symbol) for analysis in analyses),
            chosen=chosen,
            follow_up=follow_up,
        )

    @property
    def findings(self) -> dict[str, tuple[int, int]]:
        """By rule: how many bars it affected, in how many symbols."""
        return by_rule(self.found.values())

    @property
    def drifted(self) -> Sequence[str]:
        """Symbols whose checkpoint was checked and differs from a new walk over the same bars."""
        return self.walks.get("drifted", ())

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON values, as stored in the book."""
        chosen, currencies = self.chosen, dict(sorted(self.assumed_currencies.items()))
        return {
            "bars": self.bars,
            "covered": self.covered,
            "dividend_adjusted": self.dividend_adjusted,
            "inferred_crypto": list(chosen.inferred),
            "assumed_dollars": self.assumed_dollars,
            "refused": dict(self.refused),
            "findings": {rule: list(counts) for rule, counts in self.findings.items()},
            "found": {symbol: dict(counts) for symbol, counts in sorted(self.found.items())},
            "forming": {family.value: n for family, n in self.forming.items()},
            "running": {family.value: n for family, n in self.running.items()},
            **({"wider": chosen.wider} if chosen.wider else {}),
            **({"assumed_currencies": currencies} if currencies else {}),
            **({"markets": dict(chosen.markets)} if chosen.markets else {}),
            **({"unclear_markets": dict(chosen.unclear)} if chosen.unclear else {}),
        }


def _by_family(ranked: Sequence[RankedSetup], status: str) -> dict[Family, int]:
    counted = Counter(
        each.formation.setup.family for each in ranked if each.formation.setup.status == status
    )
    return {family: counted[family] for family in Family}
