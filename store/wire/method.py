"""The method record: how the trades of a night did compared with their placebo.

It is stored beside the wire records and shown on the method page. No API answer contains it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Annotated, Final, Literal

import numpy as np
import numpy.typing as npt
from pydantic import AliasChoices, Field

from store.wire.families import Direction, Family
from store.wire.records import AsServed, Count, Number, Record, Share, Verdict
from store.wire.words import FEW, VERDICTS

METHOD = 2
"""The version of the method that measures trades: their random entries, errors and verdicts."""

FEW_HALF_YEARS = 10
"""A measure says nothing if its trades were entered in fewer half years: these are its clusters."""

EDGES: Final = tuple(step / 2 for step in range(-4, 17))
"""From -2 to 8 R. A loss at its stop is -1 R, which a bin holds that ends there."""


class Estimate(Record):
    """A mean and its standard error; the error is null if there are too few trades for one."""

    mean: Number
    error: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None


class Costs(Record):
    """Average R after round-trip costs, given in basis points of the entry price."""

    basis_points: Count
    avg_r: Number


SymbolFate = Literal["current", "stopped", "delisted"]
"""What became of a symbol: its bars reach the session, stop earlier, or ended with its listing."""


Regime = Literal["rising", "falling", "calm", "normal", "turbulent"]
"""What the market did at the entry: its trend, or its third of volatility."""


class Measure(Record):
    """The resolved first attempts of one group; a null family, direction and so on means all."""

    family: Family | None
    direction: Direction | None
    decade: int | None
    """The first year of the decade in which the trades were entered."""
    fate: SymbolFate | None = None
    """What became of the symbols of the trades."""
    regime: Regime | None = None
    """What the market did when the trades were entered."""
    trades: Count
    wins: Count
    losses: Count
    win_rate_pct: Share
    win_rate_range: tuple[Share, Share]
    """95% Wilson interval, which assumes independent trades."""
    avg_win_pct: Number | None
    avg_loss_pct: Number | None
    avg_r: Estimate
    clusters: Count = Field(validation_alias=AliasChoices("clusters", "months"))
    """The half years in which the trades were entered; in nights of version 1, the months."""
    draws: Count
    """Resolved placebo trades."""
    placebo_pct: Estimate | None
    difference_r: Estimate | None
    """Mean of each trade's R minus the average R of its own draws, over trades with any draw."""
    after_costs: list[Costs]
    placebo_r: Estimate | None = None
    """Average R of the random entries of the trades that have any."""
    compared: Count = 0
    """Trades that have random entries of their own."""
    compared_r: Estimate | None = None
    """The average R of these alone, so that it minus `placebo_r` is the difference."""
    adjusted_p: Share | None = None
    """The chance of such a difference in any line that was tested, if no line had one."""
    verdict: Verdict | None = None
    """None where nothing was tested, and in nights sealed before verdicts were corrected."""

    @property
    def whole(self) -> bool:
        """Whether it holds all trades of its family and direction."""
        return self.decade is None and self.fate is None and self.regime is None

    @property
    def few(self) -> bool:
        """Whether there are too few trades to say anything."""
        return self.trades < FEW if self.verdict is None else self.verdict == "too_few"

    @property
    def distinguishable(self) -> bool:
        """Whether the verdict is that the group differs from random entries."""
        return self.verdict in ("above_random", "below_random")

    @property
    def words(self) -> str:
        """The verdict in words."""
        return VERDICTS["too_few" if self.few else self.verdict]


class Distribution(Record):
    """The R multiples of resolved first attempts, counted between edges.

    A bin excludes its lower edge and includes its upper one. The first bin is what is not over the
    first edge, and the last what is over the last edge.
    """

    family: Family | None = None
    """None for the trades of one ticker."""
    edges: Annotated[list[Number], Field(min_length=1)]
    counts: list[Count]
    """One more than there are edges."""

    @classmethod
    def of(
        cls, values: Sequence[float] | npt.NDArray[np.float64], family: Family | None = None
    ) -> Distribution:
        """The distribution of R multiples, rounded as they are served."""
        bins = np.searchsorted(EDGES, np.asarray(values, np.float64), side="left")
        counts = np.bincount(bins, minlength=len(EDGES) + 1)
        return cls(family=family, edges=list(EDGES), counts=counts.tolist())

    @property
    def trades(self) -> int:
        """All trades."""
        return sum(self.counts)


class Method(Record):
    """The measures of a night over all symbols that it analysed."""

    as_of_session: dt.date
    start: dt.date
    """The first session that could be scored."""
    symbols: Count
    """Symbols whose bars were analysed."""
    ended: Count
    """Symbols whose bars stop before the session, for whatever reason."""
    delisted: Count = 0
    """Ended symbols whose bars end where their listing does in the reference."""
    delisted_trades: Count = 0
    """Trades that closed at the last close of a delisted symbol; they count as losses."""
    open_trades: Count
    """Open trades, which no other number here includes."""
    draws_per_trade: Count
    nearest_draw: Count
    """The least number of bars between a trade's entry and the entry of a draw."""
    farthest_draw: Count
    """The greatest number of bars between them."""
    measures: list[Measure]
    version: Count = 1
    """The version of the method; random entries lie on both sides of a trade since version 2."""
    tested: Count = 0
    """How many lines were tested together: every group and every family with enough trades."""
    as_served: list[tuple[Family, AsServed]] = Field(default_factory=list)
    """The families of which enough trades were served and resolved, from the ledger."""
    untested: list[Measure] = Field(default_factory=list)
    """Each family in each regime, which no verdict is on; none in a night sealed before."""
    distributions: list[Distribution] = Field(default_factory=list)
    """The R multiples of each family; none in a night sealed before they were counted."""

    def by_family(self) -> list[Measure]:
        """One measure for each family and direction, then one for all trades."""
        groups = [m for m in self.measures if m.whole]
        return [m for m in groups if m.family] + [m for m in groups if not m.family]

    def by_decade(self) -> list[Measure]:
        """One measure for each decade over all families, oldest first."""
        return [m for m in self.measures if m.decade is not None and m.family is None]

    def by_fate(self) -> list[Measure]:
        """One measure for each fate of the symbols; none if all share one."""
        return [m for m in self.measures if m.fate is not None]

    def by_regime(self) -> list[Measure]:
        """One measure for each trend of the market and each third of its volatility."""
        return [m for m in self.measures if m.regime is not None]

    def distribution(self, family: Family) -> Distribution | None:
        """The R multiples of a family; None if the night does not have them."""
        return next((d for d in self.distributions if d.family == family), None)

    def by_family_and_decade(self) -> list[Measure]:
        """One measure for each family in each decade."""
        return [m for m in self.measures if m.decade is not None and m.family is not None]
