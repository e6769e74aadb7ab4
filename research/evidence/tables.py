"""Tables: the groups of a method record, and the six filters, as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isnan

from benchmarks.markdown import table
from research.evidence.comparison import FilterTest, compare
from research.evidence.filters import FILTERS
from research.evidence.trades import HeldOutTrades
from screener.nightly.statistics.summary import clustered
from store.wire.method import Estimate, Measure, Method

NONE = ""


def tables(method: Method) -> Iterator[str]:
    """The groups of a night: families and directions, fates, decades, both, regimes."""
    groups: Sequence[tuple[str, Sequence[Measure]]] = (
        ("family", method.by_family()),
        ("symbols", method.by_fate()),
        ("decade", method.by_decade()),
        ("family and decade", method.by_family_and_decade()),
        ("market at the entry", method.by_regime()),
    )
    for name, measures in groups:
        if measures:
            heads = (name, "trades", "reached", "random", "avg R", "lift", "p", "verdict")
            yield table(heads, map(_measure, measures)) + "\n"


def _measure(measure: Measure) -> Sequence[str]:
    random = measure.placebo_pct
    return (
        _name(measure),
        f"{measure.trades:,}",
        f"{measure.win_rate_pct:.1f}%",
        NONE if random is None else f"{random.mean:.1f}%",
        f"{measure.avg_r.mean:+.3f}",
        _estimate(measure.difference_r),
        _p(measure.adjusted_p),
        (measure.verdict or NONE).replace("_", " "),
    )


def _name(measure: Measure) -> str:
    parts = (
        measure.family and measure.family.label.lower(),
        measure.direction,
        measure.decade and f"{measure.decade}s",
        measure.fate,
        measure.regime,
    )
    return ", ".join(part for part in parts if part) or "all"


def _estimate(estimate: Estimate | None) -> str:
    if estimate is None:
        return NONE
    return f"{estimate.mean:+.3f}" + ("" if estimate.error is None else f" ± {estimate.error:.3f}")


def filter_table(trades: HeldOutTrades) -> str:
    """What the filters do on the trades held out: both groups, and their difference."""
    drawn = trades.facts["draws"] > 0
    lift, months = trades.lift[drawn], trades.months[drawn]
    verdicts = trades.verdicts[:, drawn]
    tested = compare(lift, list(verdicts), months)
    sides = ("passing", "compared", "lift", "failing", "compared", "lift")
    heads = ("filter", *sides, "left out", "difference", "p", "says")
    rows = []
    for name, mine, every, test in zip(FILTERS, verdicts, trades.verdicts, tested, strict=True):
        groups = []
        for side in (1, 0):
            compared = mine == side
            found = clustered(lift[compared], months[compared]) if compared.any() else None
            written = None if found is None else Estimate(mean=found.value, error=found.error)
            groups += [f"{(every == side).sum():,}", f"{compared.sum():,}", _estimate(written)]
        left_out = f"{(every == -1).sum():,}"
        rows.append((name, *groups, left_out, _difference(test), _p(test.adjusted_p), _says(test)))
    return table(heads, rows)


def _p(adjusted: float | None) -> str:
    if adjusted is None:
        return NONE
    return "< 0.001" if adjusted < 0.001 else f"{adjusted:.3f}"


def _difference(test: FilterTest) -> str:
    if isnan(test.difference) or isnan(test.error):
        return NONE
    return _estimate(Estimate(mean=test.difference, error=test.error))


def _says(test: FilterTest) -> str:
    if test.adjusted_p is None:
        return "too few"
    if test.adjusted_p > 0.05:
        return "nothing"
    return "helps" if test.difference > 0 else "hurts"
