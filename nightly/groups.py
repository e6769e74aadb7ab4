"""Groups of trades: every line of a table or a record, and what may be said of all together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from nightly.bars import to_date
from nightly.events import Outcome, Rows
from nightly.history import Fate
from nightly.lift import differences, half_years_of
from nightly.market import CALM, FALLING, NORMAL, RISING, TURBULENT, Market
from nightly.multiple import LEVEL, adjusted_p
from nightly.patterns import FAMILIES
from store.families import Direction, Family
from store.method import FEW, FEW_HALF_YEARS, Regime, SymbolFate
from store.records import Verdict

Mask = npt.NDArray[np.bool_]

FATES: Final[Mapping[SymbolFate, Fate]] = {
    "current": Fate.CURRENT,
    "stopped": Fate.STOPPED,
    "delisted": Fate.DELISTED,
}
TRENDS: Final[Mapping[Regime, int]] = {"rising": RISING, "falling": FALLING}
THIRDS: Final[Mapping[Regime, int]] = {"calm": CALM, "normal": NORMAL, "turbulent": TURBULENT}
SIGNS: Final[Mapping[Direction, int]] = {"bullish": 1, "bearish": -1}


class Group(NamedTuple):
    """Trades that are alike in what is given; None stands for all."""

    family: Family | None = None
    direction: Direction | None = None
    symbol: str | None = None
    decade: int | None = None
    fate: SymbolFate | None = None
    regime: Regime | None = None


def group_of(
    family: Family, direction: Direction | None = None, symbol: str | None = None
) -> Group:
    """The group of a record; all trades of a one-way family are in its one direction."""
    return Group(family, direction if family.both_ways else family.directions[0], symbol)


class Tested(NamedTuple):
    """What may be said of a group, and the adjusted p behind it; None if it was not tested."""

    verdict: Verdict
    adjusted_p: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Trades:
    """The resolved first attempts of all symbols."""

    facts: Rows
    symbols: npt.NDArray[np.str_]
    decades: npt.NDArray[np.int64]
    trend: npt.NDArray[np.int8]
    volatility: npt.NDArray[np.int8]

    @classmethod
    def of(cls, found: Sequence[tuple[str, Rows]], market: Market) -> Trades:
        """The trades of each symbol, whose `FACTS` rows hold open ones too."""
        resolved = [(name, facts[facts["outcome"] != Outcome.OPEN]) for name, facts in found]
        facts = np.concatenate([rows for _, rows in resolved])
        owners = np.repeat([name for name, _ in resolved], [len(rows) for _, rows in resolved])
        days = facts["entry_day"]
        return cls(
            facts,
            owners,
            np.array([to_date(day).year // 10 * 10 for day in days], np.int64),
            market.at(days, market.trend),
            market.at(days, market.volatility),
        )

    def members(self, group: Group) -> Mask:
        """Which trades belong to a group."""
        mask = np.ones(len(self.facts), np.bool_)
        if group.family is not None:
            mask &= self.facts["family"] == FAMILIES.index(group.family)
        if group.direction is not None:
            mask &= self.facts["direction"] == SIGNS[group.direction]
        if group.symbol is not None:
            mask &= self.symbols == group.symbol
        if group.decade is not None:
            mask &= self.decades == group.decade
        if group.fate is not None:
            mask &= self.facts["fate"] == FATES[group.fate]
        if group.regime is not None:
            trend = TRENDS.get(group.regime)
            mask &= (
                self.volatility == THIRDS[group.regime] if trend is None else self.trend == trend
            )
        return mask

    def tested(self, groups: Iterable[Group]) -> dict[Group, Tested]:
        """The verdicts on groups, corrected for all of them that have enough trades.

        Records of tickers are tested apart: one line of few trades would make it harder for all
        others to differ, and which tickers have a record depends on the night's setups.
        """
        asked = dict.fromkeys(groups)
        tickers = [group for group in asked if group.symbol is not None]
        return self._together(g for g in asked if g.symbol is None) | self._together(tickers)

    def _together(self, groups: Iterable[Group]) -> dict[Group, Tested]:
        values, times = differences(self.facts), half_years_of(self.facts)
        compared = np.isfinite(values)
        lines = {group: self.members(group) & compared for group in groups}
        large = {
            group: line
            for group, line in lines.items()
            if line.sum() >= FEW and len(np.unique(times[line])) >= FEW_HALF_YEARS
        }
        found = adjusted_p(np.nan_to_num(values), list(large.values()), times)
        verdicts = {
            group: Tested(_verdict(p, float(values[line].mean())), p)
            for (group, line), p in zip(large.items(), found, strict=True)
        }
        return {group: verdicts.get(group, Tested("too_few")) for group in lines}


def _verdict(p: float, mean: float) -> Verdict:
    if p > LEVEL:
        return "not_distinguishable"
    return "above_random" if mean > 0 else "below_random"
