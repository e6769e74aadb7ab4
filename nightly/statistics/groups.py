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
from nightly.series import Places
from store.wire.families import Direction, Family
from store.wire.method import FEW_HALF_YEARS, Regime, SymbolFate
from store.wire.records import Verdict
from store.wire.words import FEW

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

    verdict: Verdict | None
    adjusted_p: float | None = None


UNTESTED: Final = Tested("too_few")
"""What may be said of a group with too few trades."""


@dataclass(frozen=True, slots=True, eq=False)
class Trades:
    """The resolved first attempts of all symbols."""

    facts: Rows
    spans: Mapping[str, slice]
    """Where the trades of each symbol stand."""
    decades: npt.NDArray[np.int64]
    trend: npt.NDArray[np.int8]
    volatility: npt.NDArray[np.int8]

    @classmethod
    def of(cls, found: Sequence[tuple[str, Rows]], market: Market) -> Trades:
        """The trades of each symbol, whose `FACTS` rows hold open ones too."""
        resolved = [(name, facts[facts["outcome"] != Outcome.OPEN]) for name, facts in found]
        facts = np.concatenate([rows for _, rows in resolved])
        ends = np.cumsum([len(rows) for _, rows in resolved]).tolist()
        spans = map(slice, [0, *ends], ends)
        days = facts["entry_day"]
        return cls(
            facts,
            {name: span for (name, _), span in zip(resolved, spans, strict=True)},
            np.array([to_date(day).year // 10 * 10 for day in days], np.int64),
            market.at(days, market.trend),
            market.at(days, market.volatility),
        )

    def members(self, group: Group) -> Places:
        """Where the trades of a group stand, in their order."""
        span = slice(None) if group.symbol is None else self.spans[group.symbol]
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
            trend, third = TRENDS.get(group.regime), THIRDS.get(group.regime)
            mask &= self.volatility[span] == third if trend is None else self.trend[span] == trend
        return np.flatnonzero(mask) + (span.start or 0)

    def tested(self, groups: Iterable[Group]) -> dict[Group, Tested]:
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
        verdicts: dict[Group, Tested] = {}
        for lines in apart.values():
            found = adjusted_p(np.nan_to_num(values), list(lines.values()), times)
            for (group, line), p in zip(lines.items(), found, strict=True):
                verdicts[group] = Tested(_verdict(p, float(values[line].mean())), p)
        return verdicts


def is_few(facts: Rows) -> bool:
    """Whether too few trades have random entries, or too few half years such trades."""
    return _few(half_years_of(facts)[np.isfinite(differences(facts))])


def _few(times: npt.NDArray[np.int64]) -> bool:
    return len(times) < FEW or len(np.unique(times)) < FEW_HALF_YEARS


def _verdict(p: float, mean: float) -> Verdict:
    if p > LEVEL:
        return "not_distinguishable"
    return "above_random" if mean > 0 else "below_random"
