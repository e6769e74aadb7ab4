"""Analysis: everything that a night finds out about one symbol from its bars.

This is the unit of parallel work. A worker process loads, cleans, walks and measures its symbols
and returns values. Work that needs all symbols is done afterwards, in `nightly.assembly`.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from nightly.bars import Adjustment, Floats, to_day
from nightly.chart_bars import chart_bars
from nightly.checkpoint import Began, Resumed, resume
from nightly.cleaning import Cleaned, clean
from nightly.doubt import GAP_DAYS, MIN_BARS
from nightly.errors import NightlyError, Refusal
from nightly.events import EventLog, Rows
from nightly.features import features
from nightly.followed import Part
from nightly.formations import RUNNING_SESSIONS, Formation, Market, current_formations
from nightly.history import (
    FACTS,
    Fate,
    Lineages,
    StoredRows,
    closed_at_end,
    history_rows,
    merged,
    trade_facts,
)
from nightly.market import Returns
from nightly.parameters import Parameters
from nightly.reference import AssetType, Listing
from nightly.series import Series
from nightly.sessions import Window
from nightly.since import Earlier, Since, Tonight, since
from nightly.sources import BarSource, Loaded
from nightly.symbols import DOLLARS, quote_of
from nightly.version import code_version
from store.nights.book import Prices


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
    running_sessions: int = RUNNING_SESSIONS
    """A trade that has run for more sessions is no longer served as a setup."""
    kept: Mapping[str, bytes] = field(default_factory=dict)
    """The last night's checkpoints, by symbol."""
    check: bool = False
    """Whether to walk all bars and compare the result with the checkpoints."""
    earlier: Mapping[str, Earlier] | None = None
    """What the last night served, by symbol; None if there was no night before."""

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
        if refusal := other_currency(loaded, listing):
            return Cleaned((), {}, refusal)
        return clean(
            loaded.bars,
            asset_type=listing.asset_type,
            window=self.windows[listing.asset_type],
            adjustment=listing.adjustment or loaded.adjustment or self.adjustment,
            splits=listing.splits,
        )

    def since(self, symbol: str, tonight: Tonight) -> Since | None:
        """What became of a symbol's setups since the last night, if there was one."""
        return None if self.earlier is None else since(symbol, self.earlier[symbol], tonight)

    def walk(self, series: Series, listing: Listing, kept: bytes | None = None) -> Resumed:
        """Walk a series with the detector, from the end of a kept walk if that is valid."""
        return resume(
            kept,
            series,
            self.parameters,
            gap_days=GAP_DAYS[listing.asset_type],
            check=self.check,
        )


def other_currency(loaded: Loaded, listing: Listing) -> Refusal | None:
    """Refuse prices that are known to be in another currency, because all prices are in dollars."""
    quote = quoted_in(loaded, listing)
    if quote is None or quote in DOLLARS:
        return None
    reason = f"Its prices are in {quote}; prices must be in US dollars."
    return Refusal("other_currency", reason)


def quoted_in(loaded: Loaded, listing: Listing) -> str | None:
    """The currency of a symbol's prices, if the reference, the file or the name tells it."""
    return listing.quote_currency or loaded.currency or quote_of(loaded.name)


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
    """The day number of the first bar with 60 bars of its series before it."""
    began: Began | None = None
    """How the walk over its bars began; None if there was none."""
    kept: bytes | None = None
    """The checkpoint for the next night."""
    fate: Fate = Fate.CURRENT
    in_dollars: bool = False
    """Whether something says that the prices are in dollars; else they are assumed to be."""
    adjustment: Adjustment | None = None
    """What the file or the reference says that the prices are adjusted for."""
    returns: Returns | None = None
    """The daily returns of a covered stock, which are a part of the market's."""
    since: Since | None = None
    """What changed since the last night; None if there was no night before."""

    @property
    def symbol(self) -> str:
        """The served symbol."""
        return self.listing.symbol

    @property
    def covered(self) -> bool:
        """Whether tonight's patterns of the symbol are served."""
        return self.refusal is None


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """The results for the symbols of a task, and the sum of their returns."""

    analyses: Sequence[Analysis]
    returns: Returns


def analyse(task: Task) -> Batch:
    """Analyse the symbols of a task, in their order; runs in a worker process."""
    task.check_version()
    listings = dict(task.symbols)
    loaded = task.source.load([name for name, _ in task.symbols])
    found = [analyse_symbol(item, listings[item.name], task) for item in loaded]
    returns = Returns.total(a.returns for a in found if a.returns is not None)
    return Batch([replace(analysis, returns=None) for analysis in found], returns)


def analyse_symbol(loaded: Loaded, listing: Listing, task: Task) -> Analysis:
    """Clean, walk and measure one symbol."""
    if loaded.refusal is not None:
        return _refused(listing, loaded.refusal, loaded.findings, task)
    cleaned = task.clean(loaded, listing)
    findings = {**loaded.findings, **cleaned.findings}
    if not cleaned.series:
        reason = cleaned.refusal or Refusal("too_few_bars", "No bar was left after cleaning.")
        return _refused(listing, reason, findings, task)
    fate = fate_of(cleaned, listing, task.windows[listing.asset_type])
    number = len(cleaned.series)
    found = [
        Walked.of(series, listing, task, fate, newest=place == number)
        for place, series in enumerate(cleaned.series, 1)
    ]
    newest = found[-1]
    served = cleaned.covered
    bars = newest.series.active
    formations = newest.formations(listing, task) if served else ()
    delisted = fate is Fate.DELISTED
    tonight = Tonight(formations, [walked.part for walked in found], served, delisted)
    return Analysis(
        listing=listing,
        bars=sum(len(walked.series) for walked in found),
        refusal=cleaned.refusal,
        findings=findings,
        facts=np.concatenate([walked.facts for walked in found]),
        history=merged([walked.rows for walked in found]),
        formations=formations,
        features=features(bars, crypto=listing.crypto) if served else None,
        prices=chart_bars(newest.series.bars, formations) if served else None,
        scored_from=next(_scored_from(cleaned.series), None),
        began=newest.resumed.began,
        kept=newest.resumed.kept,
        fate=fate,
        in_dollars=quoted_in(loaded, listing) is not None,
        adjustment=listing.adjustment or loaded.adjustment,
        returns=Returns.of(cleaned.series) if served and listing.asset_type == "stock" else None,
        since=task.since(listing.symbol, tonight),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Walked:
    """One series after its walk: its log, lineages, trades and history rows."""

    series: Series
    resumed: Resumed
    log: EventLog
    """That of the walk, after closing the open trades of a delisted symbol."""
    lineages: Lineages
    facts: Rows
    rows: StoredRows

    @classmethod
    def of(
        cls, series: Series, listing: Listing, task: Task, fate: Fate, *, newest: bool
    ) -> Walked:
        """Walk a series and measure its trades. Only the newest one of a symbol has a checkpoint,
        and if the symbol was delisted, its open trades closed at its last bar.
        """
        kept = task.kept.get(listing.symbol) if newest else None
        bars, resumed = series.bars, task.walk(series, listing, kept)
        ended = newest and fate is Fate.DELISTED
        log = closed_at_end(bars, resumed.log) if ended else resumed.log
        lineages = Lineages(listing.symbol, bars, log)
        facts = trade_facts(listing.symbol, series, log, fate, task.parameters, ended=ended)
        return cls(series, resumed, log, lineages, facts, history_rows(bars, log, lineages))

    @property
    def part(self) -> Part:
        """What the comparison with the last night needs."""
        return Part(self.series.bars, self.log, self.lineages)

    def formations(self, listing: Listing, task: Task) -> Sequence[Formation]:
        """The setups that are served of the series on the night."""
        window = task.windows[listing.asset_type]
        market = Market(
            listing.symbol,
            window.last,
            window.following,
            task.parameters,
            task.running_sessions,
        )
        return current_formations(self.series.bars, self.resumed.log, self.lineages, market)


def fate_of(cleaned: Cleaned, listing: Listing, window: Window) -> Fate:
    """What became of a symbol: whether its bars stop before the session, and why."""
    last = int(cleaned.series[-1].bars.date[-1])
    if cleaned.last_day is not None and cleaned.last_day >= to_day(window.active_since):
        return Fate.CURRENT
    until = listing.listed_until
    trusted = last == cleaned.last_day
    if until is None or until >= window.last or not trusted:
        return Fate.STOPPED
    return Fate.DELISTED if abs(to_day(until) - last) <= GAP_DAYS["stock"] else Fate.STOPPED


def _scored_from(parts: Sequence[Series]) -> Iterator[int]:
    """In each series the day number of the first bar that a night could serve."""
    return (int(part.bars.date[MIN_BARS]) for part in parts if len(part) > MIN_BARS)


def _refused(
    listing: Listing, refusal: Refusal, findings: Mapping[str, int], task: Task
) -> Analysis:
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
        since=task.since(listing.symbol, Tonight()),
    )
