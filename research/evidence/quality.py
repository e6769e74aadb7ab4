"""Quality: how trades went by the quality that their drawing had when they triggered."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from benchmarks.markdown import table
from research.evidence.trades import walks_of
from screener.nightly.analysis import Task, Walked
from screener.nightly.bars import Floats
from screener.nightly.detector.events import Outcome, Rows
from screener.nightly.plan import NightPlan, pool_of
from screener.nightly.results.history import first_attempts
from screener.nightly.statistics.summary import clustered, differences, half_years_of

BANDS = (0.0, 60.0, 72.0, 75.0, 80.0, 85.0, 90.0, 100.1)
"""Percent."""


@dataclass(frozen=True, slots=True, eq=False)
class ScoredTrades:
    """Resolved first attempts and their quality in percent, in the same order."""

    facts: Rows
    """`FACTS` rows."""
    quality: Floats


def quality_table(chosen: NightPlan) -> str:
    """The trades of a plan's symbols by bands of quality, beside their random entries."""
    with pool_of(chosen) as pool:
        parts = [part for batch in pool.run(scored, chosen.tasks) for part in batch]
    facts = np.concatenate([part.facts for part in parts])
    quality = np.concatenate([part.quality for part in parts])
    rows = [
        (f"{low:.0f} to {min(high, 100):.0f}", *_row(facts[(quality >= low) & (quality < high)]))
        for low, high in pairwise(BANDS)
        if ((quality >= low) & (quality < high)).any()
    ]
    return table(("quality", "trades", "reached", "random", "avg R", "lift"), rows)


def scored(task: Task) -> list[ScoredTrades]:
    """The trades of every series of a task; runs in a worker."""
    return [_scored(walked) for _, _, walked in walks_of(task)]


def _scored(walked: Walked) -> ScoredTrades:
    log = walked.lineages.log
    trades = first_attempts(log)
    resolved = trades["outcome"] != Outcome.OPEN
    quality = log.versions["quality"][trades["version"][resolved]].astype(np.float64)
    return ScoredTrades(walked.attempts.facts[resolved], quality)


def _row(facts: Rows) -> tuple[str, ...]:
    drawn = facts["draws"].sum()
    lift = differences(facts)
    compared = np.isfinite(lift)
    mean = clustered(lift[compared], half_years_of(facts)[compared])
    error = "" if mean.error is None else f" ± {mean.error:.3f}"
    return (
        f"{len(facts):,}",
        f"{np.mean(facts['outcome'] == Outcome.WIN):.1%}",
        f"{facts['drawn_wins'].sum() / drawn:.1%}",
        f"{facts['r'].mean():+.3f}",
        f"{mean.value:+.3f}{error}",
    )
