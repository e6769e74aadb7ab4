"""Groups of trades: every line of a table or a record, and what may be said of all together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from screener.nightly.detector.events import Outcome, Rows
from screener.nightly.results.history import FACTS, ListingStatus
from screener.nightly.results.views import FAMILIES
from screener.nightly.series import Mask, Places
from screener.nightly.statistics.market import MarketDays
from screener.nightly.statistics.romano_wolf import LEVEL, adjusted_p
from screener.nightly.statistics.summary import Conclusion, differences, half_years_of
from store.wire.families import Direction, Family
from store.wire.method import FEW_HALF_YEARS, Regime, SymbolFate
from store.wire.records import Verdict
from store.wire.words import FEW

FATES: Final[Mapping[SymbolFate, ListingStatus]] = {
    "current": ListingStatus.CURRENT,
    "stopped": ListingStatus.STOPPED,
    "delisted": ListingStatus.DELISTED,
}
SIGNS: Final[Mapping[Direction, int]] = {"bullish": 1, "bearish": -1}


class Group(NamedTuple):
    """Trades that are alike in what is given; None stands for all."""

    family: Family | None = None
    direction: Direction | None = None
    symbol: str | None = None
    decade: int | None = None
    fate: SymbolFate | None = None
    regime: Regime | None = None

    @classmethod
    def of_record(
        cls, family: Family, direction: Direction | None = None, symbol: str | None = None
    ) -> Group:
        """The group of a record; all trades of a one-way family are in its one direction."""
        return cls(family, direction if family.both_ways else family.directions[0], symbol)


@dataclass(frozen=True, slots=True, eq=False)
class ResolvedTrades:
    """The resolved first attempts of all symbols."""

    facts: Rows
    spans: Mapping[str, slice]
    """Where the trades of each symbol stand, if it has any."""
    decades: npt.NDArray[np.int64]
    regimes: Mapping[Regime, Mask]
    """Which of them were entered in what the market did."""

    @classmethod
    def of(cls, symbols: Sequence[tuple[str, Rows]], market: MarketDays) -> ResolvedTrades:
        """The trades of each symbol, whose `FACTS` rows hold open ones too."""
        some = [(name, facts) for name, facts in symbols if len(facts)]
        facts = np.empty(sum(len(rows) for _, rows in some), FACTS)
        start = 0
        spans = {}
        for name, rows in some:
            resolved = rows[rows["outcome"] != int(Outcome.OPEN)]
            spans[name] = slice(start, start + len(resolved))
            facts[spans[name]] = resolved
            start += len(resolved)
        facts = facts[:start]
        days = facts["entry_day"]
        years = days.astype("datetime64[D]").astype("datetime64[Y]").astype(np.int64) + 1970
        return cls(facts, spans, years // 10 * 10, market.regimes(days))

    def of_symbol(self, symbol: str) -> Rows:
        """The trades of a symbol."""
        trades: Rows = self.facts[self._span(symbol)]
        return trades

    def rows(self, group: Group) -> Rows:
        """The trades of a group, in their order."""
        span = self._span(group.symbol)
        trades: Rows = self.facts[span][self._mask(group, span)]
        return trades

    def members(self, group: Group) -> Places:
        """Where the trades of a group stand."""
        span = self._span(group.symbol)
        return np.flatnonzero(self._mask(group, span)) + (span.start or 0)

    def symbols(self, group: Group) -> int:
        """How many symbols have trades in a group."""
        starts = [span.start for span in self.spans.values()]
        return len(np.unique(np.searchsorted(starts, self.members(group), side="right")))

    def _span(self, symbol: str | None) -> slice:
        return slice(None) if symbol is None else self.spans.get(symbol, slice(0, 0))

    def _mask(self, group: Group, span: slice) -> Mask:
        facts = self.facts[span]
        mask = np.ones(len(facts), np.bool_)
        if group.family is not None:
            mask &= facts["family"] == FAMILIES.index(group.family)
        if group.direction is not None:
            mask &= facts["direction"] == SIGNS[group.direction]
        if group.decade is not None:
            mask &= self.decades[span] == group.decade
        if group.fate is not None:
            mask &= facts["fate"] == FATES[group.fate]
        if group.regime is not None:
            mask &= self.regimes[group.regime][span]
        return mask

    def tested(self, groups: Iterable[Group]) -> dict[Group, Conclusion]:
        """The verdicts on the groups that have enough trades, corrected for all of them.

        Records of tickers are tested apart: there are many of them, each of few trades, and they
        would make it harder for all others to differ.
        """
        values, times = differences(self.facts), half_years_of(self.facts)
        compared = np.isfinite(values)
        apart: dict[bool, dict[Group, Places]] = {False: {}, True: {}}
        for group in groups:
            line = self.members(group)
            line = line[compared[line]]
            if not _few(times[line]):
                apart[group.symbol is not None][group] = line
        conclusions: dict[Group, Conclusion] = {}
        for lines in apart.values():
            adjusted = adjusted_p(np.nan_to_num(values), list(lines.values()), times)
            for (group, line), p in zip(lines.items(), adjusted, strict=True):
                conclusions[group] = Conclusion(_verdict(p, float(values[line].mean())), p)
        return conclusions


def is_few(facts: Rows) -> bool:
    """Whether too few trades have random entries, or too few half years such trades."""
    return _few(half_years_of(facts)[np.isfinite(differences(facts))])


def _few(times: npt.NDArray[np.int64]) -> bool:
    return len(times) < FEW or len(np.unique(times)) < FEW_HALF_YEARS


def _verdict(p: float, mean: float) -> Verdict:
    if p > LEVEL:
        return "not_distinguishable"
    return "above_random" if mean > 0 else "below_random"
