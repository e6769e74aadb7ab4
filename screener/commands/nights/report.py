"""What `screener nightly` prints of the night that it made."""

from __future__ import annotations

import resource
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from screener.commands.analysis.quality import assumptions, later_sessions
from screener.settings.console import Table, or_dash, out
from store.wire.currency import DOLLARS
from store.wire.labels import CHANGE_KINDS
from store.wire.words import NEW_DETECTOR, changed_words, named, plural

if TYPE_CHECKING:
    from screener.nightly.follow_up import FollowUp
    from screener.nightly.report import Report
    from store.ledger.manifest import Manifest


def print_report(
    manifest: Manifest, report: Report, seconds: float, phases: Mapping[str, float]
) -> None:
    """Print what a night found and covers, and the seconds it took, in all and of each phase."""
    out.print_text(report.chosen.overdue)
    processes = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    memory = max(resource.getrusage(each).ru_maxrss for each in processes)
    table = Table("family", "forming", "triggered", "trades", "win rate", "avg loss", "avg R")
    for entry in report.families:
        setups = (str(report.forming[entry.family]), str(report.running[entry.family]))
        facts = ("0", "-", "-", "-")
        if record := entry.track_record:
            loss = or_dash(record.avg_loss_pct, "{:.1f}%".format)
            won = f"{record.win_rate_pct:.1f}%"
            facts = (f"{record.sample_size:,}", won, loss, f"{record.avg_r:+.2f}")
        table.add_row(entry.label, *setups, *facts)
    out.print(table)
    for line in (*_reasons(report), *_changes(report.follow_up)):
        out.print(line)
    if resumed := len(report.walks.get("resumed", ())):
        anew = len(report.walks.get("anew", ()))
        out.print(
            f"Continued from the last night: {plural(resumed, 'symbol')}; read from the first bar: "
            f"{anew:,}."
        )
    if report.dividend_adjusted:
        out.print(
            f"Warning: {plural(report.dividend_adjusted, 'symbol')} with prices adjusted for "
            "dividends: their triggers, stops and targets may differ from prices on other charts, "
            "and their past setups change with every dividend."
        )
    out.print(
        f"Night {manifest.data_version}, session {manifest.as_of_session}: "
        f"symbols covered {report.covered:,}, bars {report.bars:,}, {seconds:.1f} s "
        f"({report.bars / seconds:,.0f} bars a second), largest process {memory / 1024:.0f} MiB."
    )
    out.print(f"Of these: {', '.join(f'{name} {took:.1f} s' for name, took in phases.items())}.")
    out.print_text(report.chosen.wider)


def _reasons(report: Report) -> Iterator[str]:
    for code, symbols in sorted(report.refused.items()):
        yield f"Left out, {code}: {named(sorted(symbols))}."
    for rule, (bars, symbols_touched) in report.findings.items():
        yield f"Found, {rule}: bars {bars:,}, symbols {symbols_touched:,}."
    currencies = {DOLLARS: report.assumed_dollars, **report.assumed_currencies}
    chosen = report.chosen
    yield from assumptions(chosen.inferred, chosen.markets, chosen.unclear, currencies)
    yield from later_sessions(chosen.later)


def _changes(follow_up: FollowUp) -> Iterator[str]:
    if follow_up.last is None:
        return
    groups: dict[str, list[str]] = {}
    for change in follow_up.changes:
        kind = f"{CHANGE_KINDS[change.change].lower()} ({change.reason})"
        groups.setdefault(kind, []).append(change.symbol)
    summary = "; ".join(f"{kind} {len(them):,}: {named(them)}" for kind, them in groups.items())
    counts = changed_words([dict(change) for change in follow_up.changes])
    yield f"Changed since {follow_up.last.session}, {counts}: {summary or 'nothing'}."
    if follow_up.detector_changed:
        yield NEW_DETECTOR
