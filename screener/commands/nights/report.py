"""Reports of nights: what `screener nightly` and `screener night report` print."""

from __future__ import annotations

import resource
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from screener.commands.nights.check import print_totals
from screener.notify.messages import named
from screener.settings.console import Table, out

if TYPE_CHECKING:
    from nightly.report import Report
    from screener.commands.nights.quality import Quality
    from store.ledger.manifest import Manifest


def print_report(
    manifest: Manifest, report: Report, seconds: float, phases: Mapping[str, float]
) -> None:
    """Print what a night found and covers, and the seconds it took, in all and of each phase."""
    ours, workers = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    memory = max(resource.getrusage(who).ru_maxrss for who in (ours, workers))
    found = Table("family", "forming", "running", "trades", "reached", "avg loss", "avg R")
    for entry in report.families:
        record = entry.track_record
        facts = (
            (
                f"{record.sample_size:,}",
                f"{record.win_rate_pct:.1f}%",
                "-" if record.avg_loss_pct is None else f"{record.avg_loss_pct:.1f}%",
                f"{record.avg_r:+.2f}",
            )
            if record
            else ("0", "-", "-", "-")
        )
        setups = (str(report.forming[entry.family]), str(report.running[entry.family]))
        found.add_row(entry.label, *setups, *facts)
    out.print(found)
    for line in (*_reasons(report), *_changes(report)):
        out.print(line)
    if resumed := len(report.walks.get("resumed", ())):
        anew = len(report.walks.get("anew", ()))
        out.print(
            f"Walked on from the last night: {resumed:,} symbols; from the first bar: {anew:,}."
        )
    if report.dividend_adjusted:
        out.print(
            f"Warning: {report.dividend_adjusted:,} symbols are adjusted for dividends too; their "
            "history, and so past setups, move with every dividend."
        )
    out.print(
        f"Night {manifest.data_version}, session {manifest.as_of_session}: "
        f"symbols covered {report.covered:,}, bars {report.bars:,}, {seconds:.1f} s "
        f"({report.bars / seconds:,.0f} bars a second), largest process {memory / 1024:.0f} MiB."
    )
    out.print(f"Of these: {', '.join(f'{name} {took:.1f} s' for name, took in phases.items())}.")
    out.print_text(report.wider)


def print_quality(manifest: Manifest, quality: Quality, wider: str, most: int | None) -> None:
    """Print the findings of a night, the first `most` of them, and a session that covers more."""
    out.print(f"Night {manifest.data_version}, session {manifest.as_of_session}.")
    out.print_text(wider)
    print_totals(quality.totals)
    out.print()
    out.print(f"{'symbol':<12}  {'rule':<19}       bars")
    for finding in quality.findings[:most]:
        bars = "-" if finding.bars is None else f"{finding.bars:,}"
        label = f"{finding.symbol:<12}  {finding.rule:<19}  {bars:>9}  "
        out.print_text(finding.reason or finding.done, label)
    if most is not None and len(quality.findings) > most:
        out.print(f"And {len(quality.findings) - most:,} more; --all shows them.")


def _reasons(report: Report) -> Iterator[str]:
    for code, symbols in sorted(report.refused.items()):
        yield f"Left out, {code}: {named(sorted(symbols))}."
    for rule, (bars, symbols_touched) in report.findings.items():
        yield f"Found, {rule}: bars {bars:,}, symbols {symbols_touched:,}."
    if report.inferred:
        yield (
            f"Taken for crypto, since they trade on weekends: {named(report.inferred)}; an asset "
            "type in --reference says otherwise."
        )
    if report.assumed_dollars:
        yield (
            f"Prices of {report.assumed_dollars:,} symbols are taken for US dollars, as nothing "
            "says what they are in."
        )
    if report.later:
        yield (
            f"Warning: later sessions of {len(report.later):,} symbols are not used, since too few "
            f"others reach them ({named(report.later)}); use newer bars, or give --session."
        )


def _changes(report: Report) -> Iterator[str]:
    if report.since is None:
        return
    kinds: dict[str, list[str]] = {}
    for change in report.changes:
        kinds.setdefault(f"{change.change} ({change.reason})", []).append(change.symbol)
    told = "; ".join(f"{kind} {len(them):,}: {named(them)}" for kind, them in kinds.items())
    yield f"Changed since {report.since}: {told or 'nothing'}."
