"""What a night measured beside random entries, as a table on the command line."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from screener.console import Table, fail, out
from store.manifest import Manifest
from store.method import Estimate, Measure, Method


def print_method(manifest: Manifest, method: Method | None) -> None:
    """Print every group with its errors and what may be said of it; fail where none is kept."""
    if method is None:
        fail(f"Night {manifest.data_version} carries no statistics; run `screener nightly` again.")
    shown = Table(
        *("family", "direction", "group", "trades", "wins", "reached", "95% range", "random"),
        *("avg loss", "avg R", "less random", "10 bp", "25 bp", "in words"),
    )
    groups = (
        method.by_family(),
        method.by_fate(),
        method.by_regime(),
        method.by_decade(),
        method.by_family_and_decade(),
    )
    for measure in chain(*groups):
        shown.add_row(*_cells(measure))
    out.print(shown)
    out.print(
        f"Session {manifest.as_of_session}, {method.symbols:,} symbols; the bars of "
        f"{method.ended:,} stop before it, {method.delisted:,} of them with their listing. "
        f"{method.delisted_trades:,} trades closed there and count as losses; "
        f"{method.open_trades:,} open trades count in no number; no costs except where named."
    )
    if method.version > 1:
        out.print(
            "Errors take the trades of one half year as one. The words are corrected for all "
            f"{method.tested:,} lines that were tested together."
        )


def _cells(measure: Measure) -> Iterator[str]:
    low, high = measure.win_rate_range
    yield measure.family.label if measure.family else "All"
    yield measure.direction or ""
    yield f"{measure.decade}s" if measure.decade else measure.fate or measure.regime or ""
    yield f"{measure.trades:,}"
    yield f"{measure.wins:,}"
    yield f"{measure.win_rate_pct:.1f}%"
    yield f"{low:.1f} to {high:.1f}"
    yield _estimate(measure.placebo_pct, ".1f")
    yield "-" if measure.avg_loss_pct is None else f"{measure.avg_loss_pct:.1f}%"
    yield _estimate(measure.avg_r, "+.3f")
    yield _estimate(measure.difference_r, "+.3f")
    yield from (f"{cost.avg_r:+.3f}" for cost in measure.after_costs)
    yield measure.words


def _estimate(found: Estimate | None, form: str) -> str:
    if found is None:
        return "-"
    error = "" if found.error is None else f" ± {found.error:{form.removeprefix('+')}}"
    return f"{found.mean:{form}}{error}"
