"""Trades: the resolved first attempts of the symbols held out, with the verdicts of the filters.

The index of filter 4 holds stocks of all symbols, so the bars are read twice: once for the returns,
once for the trades.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from research.evidence.filters import FILTERS, Breakout, Index, Returns, is_held_out, returns_of
from screener.nightly.analysis import Task, Walked, cleaned_symbols, fate_of
from screener.nightly.bars import Bars
from screener.nightly.detector.events import Outcome, Rows
from screener.nightly.plan import NightPlan, pool_of
from screener.nightly.reference.reference import Listing
from screener.nightly.results.history import first_attempts

Verdicts = npt.NDArray[np.int8]
WRITTEN: Mapping[bool | None, int] = {True: 1, False: 0, None: -1}


@dataclass(frozen=True, slots=True, eq=False)
class HeldOutTrades:
    """`FACTS` rows of resolved trades, and their verdicts of shape (filters, trades)."""

    facts: Rows
    verdicts: Verdicts
    """1 for a trade that passes, 0 for one that fails, -1 for one that is left out."""

    @property
    def lift(self) -> npt.NDArray[np.float64]:
        """Each trade's R minus the mean R of its random entries; NaN without any."""
        drawn = np.where(self.facts["draws"] > 0, self.facts["drawn_r"], np.nan)
        lift: npt.NDArray[np.float64] = self.facts["r"] - drawn / np.maximum(
            self.facts["draws"].astype(np.float64), 1
        )
        return lift

    @property
    def months(self) -> npt.NDArray[np.int64]:
        """The calendar months of entry, as numbers."""
        days = self.facts["entry_day"].astype("datetime64[D]")
        months: npt.NDArray[np.int64] = days.astype("datetime64[M]").astype(np.int64)
        return months


def held_out_trades(chosen: NightPlan) -> HeldOutTrades:
    """The trades of a plan's symbols that are held out."""
    with pool_of(chosen) as pool:
        parts = [part for batch in pool.run(stock_returns, chosen.tasks) for part in batch]
        index = Index.of(parts)
        held = [_held_out(task) for task in chosen.tasks]
        found = [
            trades for batch in pool.run(partial(tried, index=index), held) for trades in batch
        ]
    return HeldOutTrades(
        np.concatenate([trades.facts for trades in found]),
        np.concatenate([trades.verdicts for trades in found], axis=1),
    )


def _held_out(task: Task) -> Task:
    return replace(task, symbols=[pair for pair in task.symbols if is_held_out(pair[1].symbol)])


def stock_returns(task: Task) -> list[Returns]:
    """The daily returns of every series of the stocks of a task; runs in a worker."""
    return [
        returns_of(series.bars)
        for listing, _, cleaned in cleaned_symbols(task)
        if listing.asset_type == "stock"
        for series in cleaned.series
    ]


def tried(task: Task, index: Index) -> list[HeldOutTrades]:
    """The resolved trades of every series of a task; runs in a worker."""
    return [
        _tried(bars, walked, None if listing.crypto else index)
        for listing, bars, walked in walks_of(task)
    ]


def walks_of(task: Task) -> Iterator[tuple[Listing, Bars, Walked]]:
    """Every series of a task's symbols with its bars, as a night walks it."""
    for listing, _, cleaned in cleaned_symbols(task):
        if not cleaned.series:
            continue
        fate = fate_of(cleaned, listing, task.windows[listing.calendar])
        for place, series in enumerate(cleaned.series, 1):
            newest = place == len(cleaned.series)
            yield listing, series.bars, Walked.of(series, listing, task, fate, newest=newest)


def _tried(bars: Bars, walked: Walked, market: Index | None) -> HeldOutTrades:
    log = walked.lineages.log
    trades = first_attempts(log)
    versions = log.versions[trades["version"]]
    starts = np.minimum(versions["upper_start"], versions["lower_start"])
    resolved = trades["outcome"] != Outcome.OPEN
    breakouts = [
        Breakout(bars, int(start), int(trade["entry"]), int(trade["direction"]), market)
        for start, trade in zip(starts[resolved], trades[resolved], strict=True)
    ]
    return HeldOutTrades(walked.attempts.facts[resolved], verdicts_of(breakouts))


def verdicts_of(breakouts: Sequence[Breakout]) -> Verdicts:
    """What each filter says of each breakout, of shape (filters, breakouts)."""
    rows = [[WRITTEN[passes(seen)] for seen in breakouts] for passes in FILTERS.values()]
    return np.array(rows, np.int8).reshape(len(FILTERS), len(breakouts))
