"""Symbol results: everything that a night finds out about one symbol from its bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from screener.nightly.bars import Adjustment, Floats
from screener.nightly.detector.events import Rows
from screener.nightly.errors import RefusedInput
from screener.nightly.reference.reference import Listing
from screener.nightly.results.history import FACTS, ListingStatus, StoredRows
from screener.nightly.results.returns import Returns
from screener.nightly.results.setups import Formation
from screener.nightly.results.transitions import SymbolFollowUp
from store.nights.book import Prices
from store.wire.currency import DOLLARS
from store.wire.records import NearestDrawing

Began = Literal["resumed", "anew", "drifted"]
"""How a walk began: `resumed` from the memo, `anew` at the first bar, or `drifted`: at the first
bar, because a check found that the memo differs from what the same bars give."""


@dataclass(frozen=True, slots=True, eq=False)
class Analysis:
    """The results for one symbol."""

    listing: Listing
    refusal: RefusedInput | None
    findings: Mapping[str, int]
    bars: int = 0
    facts: Rows = field(default_factory=lambda: np.empty(0, FACTS))
    """Its first attempts with their placebo, `FACTS` rows."""
    history: StoredRows | None = None
    formations: Sequence[Formation] = ()
    nearest: NearestDrawing | None = None
    """What came furthest, if it is covered and there is no formation."""
    features: Floats | None = None
    prices: Prices | None = None
    last_bar: int | None = None
    """The day number of the last bar that the history counts."""
    scored_from: int | None = None
    """The day number of the first bar with 60 bars of its series before it."""
    began: Began | None = None
    """How the walk over its bars began; None if there was none."""
    kept: bytes | None = None
    """The memo for the next night."""
    reused: bool = False
    """Whether the results are those of the last night, whose memo and history rows stay."""
    fate: ListingStatus = ListingStatus.CURRENT
    currency: str = DOLLARS
    """Currency of its prices."""
    currency_known: bool = False
    """Whether something says so; else it is that of its exchange."""
    adjustment: Adjustment | None = None
    """What the file or the reference says that the prices are adjusted for."""
    returns: Returns | None = None
    """The daily returns of a covered stock, which are a part of the market's."""
    follow_up: SymbolFollowUp | None = None
    """What changed since the last night; None if there was no night before."""

    @property
    def symbol(self) -> str:
        """The served symbol."""
        return self.listing.symbol

    @property
    def covered(self) -> bool:
        """Whether tonight's patterns of the symbol are served."""
        return self.refusal is None
