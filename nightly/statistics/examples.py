"""Examples: past trades of each family that its page shows, of those that can be drawn whole."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from nightly.bars import to_date
from nightly.detector.events import Outcome
from nightly.results.symbol_results import Analysis
from nightly.results.views import FAMILIES
from store.wire.examples import OF_FAMILY, at_even_steps
from store.wire.families import Family

PATTERN_DAYS: Final = 230
"""Calendar days before an entry in which its pattern may begin: the longest has 150 bars."""

SHOWN: Final = ("lineage_id", "direction", "outcome", "entry_date", "exit_date", "r_multiple")
"""Fields of a history row that an example has."""

Row = Mapping[str, Any]
Listed = tuple[bool, dt.date, str]
"""Whether a trade missed its target, its entry, and its symbol."""


def family_examples(
    analyses: Sequence[Analysis], rows_of: Callable[[str], Sequence[Row]]
) -> dict[str, Row]:
    """For each family how many resolved trades can be drawn, how many of them won, and those that
    are shown; `rows_of` gives the history rows of a symbol.
    """
    found: dict[str, Row] = {}
    for number, family in enumerate(FAMILIES):
        trades = sorted(_drawable(analyses, number))
        shown = [_example(family, trade, rows_of) for trade in at_even_steps(trades, OF_FAMILY)]
        shown.sort(key=lambda row: row["entry_date"], reverse=True)
        wins = sum(not missed for missed, _, _ in trades)
        found[family.value] = {"trades": len(trades), "wins": wins, "shown": shown}
    return found


def _drawable(analyses: Sequence[Analysis], family: int) -> Iterator[Listed]:
    for analysis in analyses:
        if analysis.charted_from is not None:
            facts = analysis.facts
            chosen = facts["entry_day"] >= analysis.charted_from + PATTERN_DAYS
            chosen &= facts["family"] == family
            chosen &= np.isin(facts["outcome"], (Outcome.WIN, Outcome.LOSS))
            for fact in facts[chosen]:
                missed = bool(fact["outcome"] != Outcome.WIN)
                yield missed, to_date(fact["entry_day"]), analysis.symbol


def _example(family: Family, trade: Listed, rows_of: Callable[[str], Sequence[Row]]) -> Row:
    missed, entered, symbol = trade
    wanted = (family, entered.isoformat(), "loss" if missed else "win")
    row = next(
        row
        for row in rows_of(symbol)
        if (row["family"], row["entry_date"], row["outcome"]) == wanted
    )
    return {"symbol": symbol, **{name: row[name] for name in SHOWN}}
