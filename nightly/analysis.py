"""Analysis: everything that a night finds out about one symbol from its bars.

This is the unit of parallel work. A worker process loads, cleans, walks and measures its symbols
and returns values. Work that needs all symbols is done afterwards, in `nightly.assembly`.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from nightly.bars import Adjustment, Bars, Floats, to_day
from nightly.checkpoint import Began, Resumed, resume
from nightly.cleaning import Cleaned, clean
from nightly.doubt import GAP_DAYS, MIN_BARS, dated_ahead
from nightly.errors import NightlyError, Refusal
from nightly.events import Rows
from nightly.features import features
from nightly.formations import Formation, Market, current_formations
from nightly.history import (
    FACTS,
    Lineages,
    StoredRows,
    history_rows,
    trade_facts,
)
from nightly.parameters import Parameters
from nightly.reference import AssetType, Listing
from nightly.sessions import Window
from nightly.sources import BarSource, Loaded
from nightly.version import code_version
from store.book import Prices

CHART_BARS = 320
"""Bars stored for charts: the longest pattern has 150 bars and needs room before it."""


@dataclass(frozen=True, slots=True)
class Task:
    """Some symbols to analyse, each given by its raw name in the source and its listing."""

    source: BarSource
    symbols: Sequence[tuple[str, Listing]]
    as_of: dt.date
    windows: Mapping[AssetType, Window]
    """By asset type: the last usable day, the session after it, and the last day that has begun."""
    adjustment: Adjustment
    parameters: Parameters
    code_version: str
    kept: Mapping[str, bytes] = field(default_factory=dict)
    """The last night's checkpoints, by symbol."""
    check: bool = False
    """Whether to walk all bars and compare the result with the checkpoints."""

    def check_version(self) -> None:
        """Check that the worker runs the same version of the program as the night.

        Raises:
            NightlyError: the worker runs another version.
        """
        if self.code_version != code_version():
            raise NightlyError(
                f"A worker runs version {code_version()} of the program, but this is version "
                f"{self.code_version}; install the same version on every machine."
            )

    def clean(self, loaded: Loaded, listing: Listing) -> Cleaned:
        """The loaded bars of a symbol up to the session, cleaned."""
        window = self.windows[listing.asset_type]
        if refusal := dated_ahead(loaded.bars, window.begun):
            return Cleaned(loaded.bars.take(slice(0, 0)), {}, refusal)
        return clean(
            loaded.bars,
            asset_type=listing.asset_type,
            as_of=to_day(window.last),
            adjustment=listing.adjustment or self.adjustment,
            splits=listing.splits,
        )

    def walk(self, bars: Bars, listing: Listing) -> Resumed:
        """Walk cleaned bars with the detector, from the last night's checkpoint if it is valid."""
        return resume(
            self.kept.get(listing.symbol),
            bars,
            self.parameters,
            gap_days=GAP_DAYS[listing.asset_type],
            check=self.check,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Analysis:
    """The results for one symbol."""

    listing: Listing
    bars: int
    refusal: Refusal | None
    findings: Mapping[str, int]
    facts: Rows
    """Its first attempts with their placebo, `FACTS` rows."""
    history: StoredRows | None
    formations: Sequence[Formation]
    features: Floats | None
    prices: Prices | None
    scored_from: int | None
    """The day number of the first bar with 60 bars before it."""
    began: Began | None = None
    """How the walk over its bars began; None if there was none."""
    kept: bytes | None = None
    """The checkpoint for the next night."""

    @property
    def symbol(self) -> str:
        """The served symbol."""
        return self.listing.symbol

    @property
    def covered(self) -> bool:
        """Whether tonight's patterns of the symbol are served."""
        return self.refusal is None


def analyse(task: Task) -> list[Analysis]:
    """Analyse the symbols of a task, in their order; runs in a worker process."""
    task.check_version()
    listings = dict(task.symbols)
    loaded = task.source.load([name for name, _ in task.symbols])
    return [analyse_symbol(item, listings[item.name], task) for item in loaded]


def analyse_symbol(loaded: Loaded, listing: Listing, task: Task) -> Analysis:
    """Clean, walk and measure one symbol."""
    if loaded.refusal is not None:
        return _refused(listing, loaded.refusal, loaded.findings)
    cleaned = task.clean(loaded, listing)
    findings = {**loaded.findings, **cleaned.findings}
    bars = cleaned.bars
    if not len(bars):
        reason = cleaned.refusal or Refusal("too_few_bars", "No bar was left after cleaning.")
        return _refused(listing, reason, findings)
    resumed = task.walk(bars, listing)
    log = resumed.log
    lineages = Lineages(listing.symbol, bars, log)
    following = task.windows[listing.asset_type].following
    market = Market(listing.symbol, task.as_of, following, task.parameters)
    served = cleaned.refusal is None
    formations = current_formations(bars, log, lineages, market) if served else ()
    return Analysis(
        listing=listing,
        bars=len(bars),
        refusal=cleaned.refusal,
        findings=findings,
        facts=trade_facts(listing.symbol, bars, log),
        history=history_rows(bars, log, lineages),
        formations=formations,
        features=features(bars, crypto=listing.crypto) if served else None,
        prices=_prices(bars) if formations else None,
        scored_from=int(bars.date[MIN_BARS]) if len(bars) > MIN_BARS else None,
        began=resumed.began,
        kept=resumed.kept,
    )


def _refused(listing: Listing, refusal: Refusal, findings: Mapping[str, int]) -> Analysis:
    return Analysis(
        listing=listing,
        bars=0,
        refusal=refusal,
        findings=findings,
        facts=np.empty(0, FACTS),
        history=None,
        formations=(),
        features=None,
        prices=None,
        scored_from=None,
    )


def _prices(bars: Bars) -> Prices:
    tail = bars.take(slice(-CHART_BARS, None))
    columns = (tail.open, tail.high, tail.low, tail.close)
    return Prices(tail.date, *(column.astype(np.float32) for column in columns))
