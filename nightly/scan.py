"""The scan: every setup of the night, ranked by its typical gain, with the evidence for filters.

The typical gain is the gain *if the trade wins*. It ranks volatile tickers first, so each row also
states the win rate and its sample.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nightly.bars import Floats
from nightly.events import Outcome, Rows
from nightly.features import COLUMNS
from nightly.formations import Formation
from nightly.numbers import evidence, multiple, percent
from nightly.reference import Listing
from store.wire.records import ScanSetup, Setup, SideRecord, TrackRecords

PRIOR_WINS = 10
"""Weight of the family's median win in the typical gain, in wins."""

TICKER_SAMPLE = 20
"""With at least this many trades in a setup's direction the ticker's win rate is shown, else its
family's."""

EVIDENCE_SAMPLE = 5
"""With at least this many trades in the direction of a setup the ticker's record is evidence."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A setup with the data that its rank and the filters need."""

    formation: Formation
    records: TrackRecords
    ticker_facts: Rows
    """The ticker's resolved first attempts in the family and the direction of the setup."""
    ticker_side: SideRecord | None
    """Their record."""
    family_side: SideRecord | None
    """The family's record in the direction of the setup."""
    expected_r: float | None
    """Of the ticker, shrunk towards the family in this direction; None if nothing is known."""
    win_in_atrs: float | None
    """The family's median win in ATRs, or that of all families if it has no win, or None."""
    listing: Listing
    features: Floats

    @property
    def typical_gain_pct(self) -> float | None:
        """The ticker's median win, blended with the family's scaled by the ticker's ATR."""
        if self.win_in_atrs is None:
            return None
        won = self.ticker_facts["realized_pct"][self.ticker_facts["outcome"] == Outcome.WIN]
        own = len(won) * float(np.median(won)) if len(won) else 0.0
        prior = PRIOR_WINS * self.win_in_atrs * self.formation.atr_pct
        return percent((own + prior) / (len(won) + PRIOR_WINS))

    @property
    def shown_side(self) -> SideRecord | None:
        """The record whose win rate the row shows."""
        ticker = self.ticker_side
        enough = ticker is not None and ticker.sample_size >= TICKER_SAMPLE
        return ticker if enough else self.family_side

    @property
    def own_side(self) -> SideRecord | None:
        """The ticker's record if it has enough trades to be evidence, else None."""
        ticker = self.ticker_side
        return ticker if ticker is not None and ticker.sample_size >= EVIDENCE_SAMPLE else None

    @property
    def order(self) -> tuple[float, float, float, str, str]:
        """The sort key, best rank first: typical gain, quality, nearness, then symbol and id."""
        gain = self.typical_gain_pct
        return (
            float("inf") if gain is None else -gain,
            -self.formation.quality,
            abs(self.formation.distance_pct),
            self.formation.symbol,
            str(self.formation.fields["setup_id"]),
        )

    def setup(self) -> Setup:
        """The setup as the patterns route serves it."""
        return Setup(**self.formation.fields, track_record=self.records)

    def row(self, rank: int) -> ScanSetup:
        """The setup as the scan serves it."""
        shown = self.shown_side
        return ScanSetup(
            **self.formation.fields,
            track_record=self.records,
            rank=rank,
            expected_gain_pct=self.typical_gain_pct,
            win_rate_pct=shown.win_rate_pct if shown else None,
            win_rate_trades=shown.sample_size if shown else 0,
            distance_to_trigger_pct=self.formation.distance_pct,
        )

    def numbers(self) -> dict[str, float]:
        """The numeric evidence of the row, except its price and volume features."""
        own, formation = self.own_side, self.formation
        return {
            "dist_to_entry": formation.distance_pct,
            "min_win_rate": evidence(own.win_rate_pct if own else None),
            "min_avg_r": evidence(own.avg_r if own else None),
            "min_expected_r": evidence(
                None if self.expected_r is None else multiple(self.expected_r)
            ),
            "typical_return": evidence(self.typical_gain_pct),
            "target_move": formation.target_move_pct,
            "pre_pattern_move": formation.pre_pattern_move_pct,
            "market_cap": evidence(self.listing.market_cap),
        }

    def labels(self) -> dict[str, str | None]:
        """The choice evidence of the row."""
        return {
            "family": self.formation.family,
            "status": self.formation.status,
            "direction": str(self.formation.fields["direction"]),
            "phase": self.formation.phase,
            "asset_type": self.listing.asset_type,
            "exchange": self.listing.exchange,
            "industry": self.listing.industry,
            "country": self.listing.country,
        }


def number_columns(candidates: Sequence[Candidate]) -> dict[str, npt.NDArray[np.float64]]:
    """The numeric evidence columns: one value per candidate, NaN for no evidence."""
    rows = [candidate.numbers() for candidate in candidates]
    names = list(rows[0]) if rows else []
    columns = {name: np.array([row[name] for row in rows]) for name in names}
    features = np.array([candidate.features for candidate in candidates])
    for position, name in enumerate(COLUMNS):
        columns[name] = features[:, position] if len(features) else np.empty(0)
    return columns


def label_columns(candidates: Sequence[Candidate]) -> Mapping[str, list[str | None]]:
    """The choice evidence columns: one label per candidate, None for no evidence."""
    rows = [candidate.labels() for candidate in candidates]
    return {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}
