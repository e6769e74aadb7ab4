"""The scan: every setup of the night, ranked by its typical gain, with the evidence for filters.

The typical gain is the gain *if the trade wins*. It ranks volatile tickers first, so each row also
states the win rate and its sample.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from screener.nightly.bars import Floats
from screener.nightly.reference.reference import Listing
from screener.nightly.results.features import COLUMNS
from screener.nightly.results.setups import Formation
from screener.nightly.results.views import multiple, percent
from screener.nightly.statistics.summary import GroupSummary
from store.wire.currency import DOLLARS
from store.wire.records import ScanSetup, Setup
from store.wire.view import EVIDENCE_SAMPLE, TICKER_SAMPLE

PRIOR_WINS = 10
"""Weight of the family's median win in the typical gain, in wins."""

IN_DOLLARS = (
    *("price", "market_cap", "dollar_volume", "dollar_volume_30d", "current_dollar_volume"),
)
"""What filters count in US dollars; amounts in another currency are no evidence for them."""


@dataclass(frozen=True, slots=True)
class RankedSetup:
    """A setup with the data that its rank and the filters need."""

    formation: Formation
    setup: Setup
    """The setup as the patterns route serves it, with its track records."""
    ticker: GroupSummary
    """The ticker's resolved first attempts in the family and the direction of the setup."""
    family: GroupSummary
    """The family's in this direction."""
    pooled: GroupSummary
    """Those of all families, which tell of a typical win where the family has none."""
    listing: Listing
    features: Floats

    @property
    def typical_gain_pct(self) -> float | None:
        """The ticker's median win, blended with the family's scaled by the ticker's ATR."""
        win_in_atrs = self.family.win_in_atrs or self.pooled.win_in_atrs
        if win_in_atrs is None:
            return None
        won = self.ticker.gains
        own = len(won) * (self.ticker.median_win or 0.0)
        prior = PRIOR_WINS * win_in_atrs * self.formation.atr_pct
        return percent((own + prior) / (len(won) + PRIOR_WINS))

    @property
    def order(self) -> tuple[float, float, float, str, str]:
        """The sort key, best rank first: typical gain, quality, nearness, then symbol and id."""
        gain = self.typical_gain_pct
        return (
            float("inf") if gain is None else -gain,
            -self.formation.quality,
            abs(self.formation.distance_pct),
            self.setup.symbol,
            self.setup.setup_id,
        )

    def row(self, rank: int) -> ScanSetup:
        """The setup as the scan serves it."""
        shown = self.ticker if self.ticker.trades >= TICKER_SAMPLE else self.family
        plan = self.setup.plans[0]
        start = self.setup.entry_price or plan.trigger_price
        return ScanSetup(
            **dict(self.setup),
            rank=rank,
            expected_gain_pct=self.typical_gain_pct,
            win_rate_pct=shown.win_rate_pct if shown.trades else None,
            win_rate_trades=shown.trades,
            distance_to_trigger_pct=self._distance_pct,
            target_move_pct=percent(abs(100 * (plan.target_price / start - 1))),
        )

    @property
    def _distance_pct(self) -> float:
        """From the last close to the trigger, also of a trade that runs from its entry."""
        if self.setup.status == "forming":
            return self.formation.distance_pct
        trigger = self.setup.plans[0].trigger_price
        return percent(abs(100 * (trigger / self.setup.last_close - 1)))

    def numbers(self) -> dict[str, float | None]:
        """The numeric evidence of the row; None or NaN for no evidence."""
        own, formation = self.ticker, self.formation
        enough = own.trades >= EVIDENCE_SAMPLE
        return {
            "dist_to_entry": self._distance_pct,
            "min_win_rate": own.win_rate_pct if enough else None,
            "min_avg_r": multiple(own.r.value) if enough else None,
            "min_expected_r": multiple(own.expected_r) if self.family.trades else None,
            "typical_return": self.typical_gain_pct,
            "target_move": formation.target_move_pct,
            "pre_pattern_move": formation.pre_pattern_move_pct,
            "market_cap": self.listing.market_cap,
            **dict(zip(COLUMNS, self.features.tolist(), strict=True)),
            **({} if self.setup.currency == DOLLARS else dict.fromkeys(IN_DOLLARS)),
        }

    def labels(self) -> dict[str, str | None]:
        """The choice evidence of the row."""
        return {
            "family": self.setup.family,
            "status": self.setup.status,
            "direction": self.setup.direction,
            "phase": self.formation.phase,
            "asset_type": self.listing.asset_type,
            "exchange": self.listing.exchange,
            "industry": self.listing.industry,
            "country": self.listing.country,
        }


def number_columns(setups: Sequence[RankedSetup]) -> dict[str, npt.NDArray[np.float64]]:
    """The numeric evidence columns: one value for each setup, NaN for no evidence."""
    rows = [setup.numbers() for setup in setups]
    names = rows[0] if rows else COLUMNS
    return {name: np.array([row[name] for row in rows], np.float64) for name in names}


def label_columns(setups: Sequence[RankedSetup]) -> Mapping[str, list[str | None]]:
    """The choice evidence columns: one label for each setup, None for no evidence."""
    rows = [setup.labels() for setup in setups]
    return {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}
