"""Both parameter sets on real bars: triggers, outcomes and the placebo, side by side.

    python -m benchmarks.planted.real BARS [REFERENCE]

Both detectors get the same cleaned bars. "Difference" is the mean of each trade's R minus that of
its own draws. Its first error assumes independent trades; the second uses the months of entry as
clusters, which is fairer because trades overlap in time.
"""

from __future__ import annotations

import datetime as dt
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from nightly.bars import Bars, to_date
from nightly.detector import detect
from nightly.doubt import GAP_DAYS
from nightly.events import Outcome, Rows
from nightly.history import first_attempts
from nightly.parameters import DETECTORS, Parameters
from nightly.patterns import FAMILIES, family_index
from nightly.placebo import placebo, seeds_of
from nightly.plan import Order, plan
from nightly.reference import Reference, read_reference
from nightly.series import Series
from nightly.sources import open_source

YEAR = 252


@dataclass(slots=True)
class Record:
    """Resolved first attempts of one family under one detector."""

    wins: list[bool] = field(default_factory=list)
    r: list[float] = field(default_factory=list)
    drawn_wins: list[bool] = field(default_factory=list)
    drawn_r: list[float] = field(default_factory=list)
    differences: list[float] = field(default_factory=list)
    months: list[int] = field(default_factory=list)
    """The months of entry, one for each difference."""

    def add(self, bars: Bars, trades: Rows, draws: Rows) -> None:
        """Add trades and the placebo draws of each."""
        for trade, drawn in zip(trades, draws, strict=True):
            risk = abs(trade["entry_price"] - trade["stop_price"])
            r = trade["direction"] * (trade["exit_price"] - trade["entry_price"]) / risk
            resolved = drawn[drawn["outcome"] != Outcome.OPEN]
            self.wins.append(trade["outcome"] == Outcome.WIN)
            self.r.append(float(r))
            self.drawn_wins.extend(resolved["outcome"] == Outcome.WIN)
            self.drawn_r.extend(resolved["r"])
            if len(resolved):
                self.differences.append(float(r - resolved["r"].mean()))
                day = to_date(bars.date[trade["entry"]])
                self.months.append(12 * day.year + day.month)

    def text(self) -> str:
        """The record's columns."""
        if len(self.differences) < 2:
            return f"{len(self.r):8,}"
        gap = np.array(self.differences)
        error = gap.std(ddof=1) / np.sqrt(len(gap))
        sums = np.bincount(self.months, gap - gap.mean())
        clustered = np.sqrt(np.square(sums).sum()) / len(gap)
        reached, drawn = (100 * float(np.mean(wins)) for wins in (self.wins, self.drawn_wins))
        r, drawn_r = float(np.mean(self.r)), float(np.mean(self.drawn_r))
        return (
            f"{len(self.r):8,} {reached:7.1f}% {drawn:7.1f}% {r:+8.3f} {drawn_r:+8.3f} "
            f"{gap.mean():+8.3f} ± {error:.3f} ± {clustered:.3f}"
        )


@dataclass(slots=True)
class Tally:
    """The totals of one detector over all symbols."""

    triggers: int = 0
    formations: int = 0
    records: dict[str, Record] = field(default_factory=lambda: defaultdict(Record))

    def add(self, symbol: str, bars: Bars, parameters: Parameters, gap_days: int) -> None:
        """Walk one symbol and add its results."""
        log = detect(bars, parameters, gap_days=gap_days)
        self.triggers += len(log.trades)
        self.formations += len(np.unique(log.versions["lineage"]))
        trades = first_attempts(log)
        trades = trades[trades["outcome"] != Outcome.OPEN]
        if not len(trades):
            return
        seeds = seeds_of(symbol, bars, trades)
        draws = placebo(Series.sound(bars), log, trades, seeds, parameters)
        kinds = log.versions["type"][trades["version"]]
        families = np.array([FAMILIES[family_index(int(kind))].label for kind in kinds])
        for family in sorted(set(families)):
            chosen = families == family
            self.records[str(family)].add(bars, trades[chosen], draws[chosen])
        self.records["all"].add(bars, trades, draws)


def symbols(bars: Path, reference: Path | None) -> Iterator[tuple[str, Bars, int]]:
    """Every series of every usable symbol, with the length of its data gap in days."""
    known = read_reference(reference) if reference else Reference()
    order = Order(open_source(bars), bars.name, reference=known)
    for task in plan(order, dt.datetime.now(dt.UTC)).tasks:
        listings = dict(task.symbols)
        for loaded in task.source.load([name for name, _ in task.symbols]):
            listing = listings[loaded.name]
            cleaned = task.clean(loaded, listing) if loaded.refusal is None else None
            for series in cleaned.series if cleaned is not None else ():
                yield listing.symbol, series.bars, GAP_DAYS[listing.asset_type]


def main(bars: Path, reference: Path | None) -> None:
    """Print both records."""
    tallies = {name: Tally() for name in DETECTORS}
    total = count = 0
    for symbol, series, gap_days in symbols(bars, reference):
        total += len(series)
        count += 1
        for name, tally in tallies.items():
            tally.add(symbol, series, DETECTORS[name], gap_days)
    print(f"{count:,} symbols, {total:,} bars")
    for name, tally in tallies.items():
        print(
            f"\n{name}: {1000 * tally.formations / total:.2f} formations and "
            f"{1000 * tally.triggers / total:.2f} triggers in 1,000 bars, "
            f"{YEAR * tally.triggers / total:.2f} triggers a symbol-year"
        )
        heads = ("trades", "reached", "placebo", "avg R", "placebo", "difference")
        print(" " * 18 + " ".join(f"{head:>8}" for head in heads))
        for family, record in sorted(tally.records.items()):
            print(f"{family:18}{record.text()}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
