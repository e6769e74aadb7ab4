"""`screener nightly` and `screener night`: making and keeping nights.

Its own parts and the nightly, which brings numba and Polars, are imported by the commands that use
them (`screener.console` says why).
"""

from __future__ import annotations

import datetime as dt
import resource
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from screener.console import DRIFT, EXITS, Table, fail, out, plainly, settings
from store.errors import HeldBackError

if TYPE_CHECKING:
    from nightly.bars import Adjustment
    from nightly.report import Report
    from screener.quality import Quality
    from store.manifest import Manifest

nights_app = typer.Typer(
    no_args_is_help=True, help="List, show, compare, verify, activate and prune sealed nights."
)

Bars = Annotated[
    str,
    typer.Option(
        help="`sample`, or bars in any usual form: a folder or zip of files, or one file."
    ),
]
ReferenceTable = Annotated[
    Path | None,
    typer.Option(
        "--reference", help="CSV or Parquet: symbol, asset type, exchange, industry, country, ..."
    ),
]
Symbol = Annotated[
    str | None,
    typer.Option("--symbol", help="The symbol of --bars with one series that has none of its own."),
]
Jobs = Annotated[int | None, typer.Option(min=1, help="Processes; one a core when left out.")]
Executor = Annotated[
    str | None,
    typer.Option(
        help="A Dask cluster that does the work, dask://HOST:PORT; this machine if unset."
    ),
]
Version = Annotated[str, typer.Argument(help="The data_version of a sealed night.")]
MaybeVersion = Annotated[
    str | None,
    typer.Argument(help="The data_version of a sealed night; the active one if left out."),
]

SHOWN = 8
"""Symbols named for each reason; `screener night report` names them all."""


def nightly(
    bars: Bars = "sample",
    symbol: Symbol = None,
    reference: ReferenceTable = None,
    adjustment: Annotated[
        str, typer.Option(help="What the bars are: split, none (raw) or split+div.")
    ] = "split",
    session: Annotated[
        str | None,
        typer.Option(help="Use no bar after this date (YYYY-MM-DD), however few symbols reach it."),
    ] = None,
    jobs: Jobs = None,
    executor: Executor = None,
    wait_for_session: Annotated[
        bool, typer.Option(help="First wait until the session in progress is over and settled.")
    ] = False,
    settle_minutes: Annotated[
        int, typer.Option(min=0, help="Minutes after the close until bars are final.")
    ] = 60,
    dry_run: Annotated[
        bool, typer.Option(help="Publish nothing; print what would change for readers.")
    ] = False,
    full: Annotated[
        bool,
        typer.Option(help="Walk every bar again and compare with what the last night kept."),
    ] = False,
    accept_fall: Annotated[
        bool,
        typer.Option(help="Publish even if it covers far less, or if many symbols are behind."),
    ] = False,
) -> None:
    """Find patterns in daily bars, measure how they did, and seal it all as one night.

    A symbol with bad bars is left out and named; a failed night leaves the old one serving.
    docs/scheduling.md tells the exit codes.
    """
    from screener.difference import told
    from screener.nightly import order_of, read_date, seal, timed, try_out, working
    from screener.nightly import wait_for_session as wait

    chosen = settings()
    with plainly():
        stop_at, kind = read_date(session), read_adjustment(adjustment)
        if wait_for_session:
            wait(dt.timedelta(minutes=settle_minutes))
        with timed() as seconds, working(chosen) as (work, step):
            order = order_of(
                chosen,
                bars,
                work=work,
                step=step,
                symbol=symbol,
                reference=reference,
                adjustment=kind,
                session=stop_at,
                jobs=jobs,
                executor=executor,
                accept_fall=accept_fall,
                full=full,
                only_new=not (dry_run or full),
            )
            if dry_run:
                manifest, report, found, fall = try_out(chosen, order, step)
            else:
                manifest, report = seal(chosen, order, step)
        _print_report(manifest, report, seconds())
        phases = ", ".join(f"{name} {took:.1f} s" for name, took in step.seconds().items())
        out.print(f"Of these: {phases}.")
        if report.drifted:
            fail(_drift(report.drifted), DRIFT)
        if dry_run:
            for line in told(found):
                out.print(line)
            out.print("Nothing was published.")
            if fall and not accept_fall:
                fail(f"{fall}; it would be held back.", EXITS[HeldBackError])


@nights_app.command("list")
def list_nights() -> None:
    """List the sealed nights, newest session first; * marks the active one."""
    from store.nights import Nights

    with plainly():
        nights = Nights(settings().data_dir)
        active = nights.active()
        listed = Table("", "version", "session", "bars", "covered", "setups", "resolved", "MB")
        for night in nights.sealed():
            mark = "*" if active and night.data_version == active.data_version else ""
            counts = night.counts
            numbers = (counts.covered, counts.setups, counts.resolved)
            size = f"{night.book.bytes / 1e6:.1f}"
            listed.add_row(
                mark,
                night.data_version,
                str(night.as_of_session),
                night.inputs.bars,
                *(str(number) for number in numbers),
                size,
            )
    out.print(listed)


@nights_app.command("show")
def show(
    version: MaybeVersion = None,
    statistics: Annotated[
        bool, typer.Option("--statistics", help="What its trades came to beside random entries.")
    ] = False,
) -> None:
    """Show a night's manifest, and whom it left out and why, as JSON."""
    from screener.method import print_method
    from store.nights import Nights

    with plainly():
        nights = Nights(settings().data_dir)
        manifest = nights.get(version) if version else nights.check_active()
        if statistics:
            print_method(manifest, nights.method(manifest))
            return
        report = {k: v for k, v in nights.report(manifest).items() if k != "found"}
        shown = {**manifest.model_dump(mode="json"), "report": report}
    out.print_json(shown)


@nights_app.command("report")
def report(
    version: MaybeVersion = None,
    symbol: Annotated[str | None, typer.Option(help="This symbol alone.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, for programs.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="The findings as CSV.")] = False,
) -> None:
    """Show what was found in each symbol's bars and what was done, totals by rule first."""
    from screener.quality import Quality
    from store.nights import Nights

    if as_json and as_csv:
        fail("--json and --csv exclude each other; give one of them.")
    with plainly():
        nights = Nights(settings().data_dir)
        manifest = nights.get(version) if version else nights.check_active()
        quality = Quality.of(nights.report(manifest), symbol.upper() if symbol else None)
    if as_json:
        out.print_json(quality.as_dict())
    elif as_csv:
        for line in quality.as_csv().splitlines():
            out.print(line)
    else:
        _print_quality(manifest, quality)


@nights_app.command("changes")
def changes(
    version: MaybeVersion = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, for programs.")] = False,
) -> None:
    """Show what changed with a night: setups that are new, triggered or ended, and why."""
    from screener.changes import as_dict, told
    from store.nights import Nights

    with plainly():
        nights = Nights(settings().data_dir)
        manifest = nights.get(version) if version else nights.check_active()
        found = nights.changes(manifest)
    if as_json:
        out.print_json(as_dict(manifest, found))
        return
    for part in told(manifest, found):
        out.print(part)


@nights_app.command("verify")
def verify(version: MaybeVersion = None) -> None:
    """Check that a night's book is byte for byte what was sealed."""
    from store.nights import Nights

    with plainly():
        nights = Nights(settings().data_dir)
        manifest = nights.verify(version) if version else nights.check_active()
    out.print(f"{manifest.data_version} is what was sealed ({manifest.book.sha256}).")


@nights_app.command("activate")
def activate(version: Version) -> None:
    """Make a sealed night the active one, to roll back or forward."""
    from store.lock import locked
    from store.nights import Nights

    with plainly():
        folder = settings().data_dir
        nights = Nights(folder)
        with locked(folder, dt.datetime.now(dt.UTC)):
            manifest = nights.activate(version)
    out.print(f"{manifest.data_version} is active now, session {manifest.as_of_session}.")


@nights_app.command("prune")
def prune(keep: Annotated[int, typer.Option(min=1, help="How many to keep.")]) -> None:
    """Remove old nights and their charts; the active one always stays."""
    from store.lock import locked
    from store.nights import Nights

    with plainly():
        folder = settings().data_dir
        nights = Nights(folder)
        with locked(folder, dt.datetime.now(dt.UTC)):
            removed = nights.prune(keep)
    out.print(f"Removed {len(removed)}: {', '.join(removed) or 'nothing'}.")


def read_adjustment(text: str) -> Adjustment:
    """What the bars are adjusted for, as given on the command line."""
    from nightly.bars import Adjustment

    if text not in get_args(Adjustment):
        fail(f"--adjustment {text!r} is not one of {', '.join(get_args(Adjustment))}.")
    return text  # type: ignore[return-value]


def _print_report(manifest: Manifest, report: Report, seconds: float) -> None:
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
    for line in _reasons(report):
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
        f"{report.covered:,} symbols covered, {report.bars:,} bars, {seconds:.1f} s "
        f"({report.bars / seconds:,.0f} bars a second), largest process {memory / 1024:.0f} MiB."
    )


def _print_quality(manifest: Manifest, quality: Quality) -> None:
    totals = Table("rule", "symbols", "bars", "done")
    for total in quality.totals:
        totals.add_row(total.rule, f"{total.symbols:,}", _number(total.bars), total.done)
    found = Table("symbol", "rule", "bars", "done", "reason")
    for finding in quality.findings:
        bars = _number(finding.bars)
        found.add_row(finding.symbol, finding.rule, bars, finding.done, finding.reason)
    out.print(f"Night {manifest.data_version}, session {manifest.as_of_session}.")
    out.print(totals)
    out.print()
    out.print(found)


def _number(bars: int | None) -> str:
    return "-" if bars is None else f"{bars:,}"


def _drift(symbols: Sequence[str]) -> str:
    return (
        f"Drift in {len(symbols):,} of the kept walks ({_named(symbols)}): their bars give others. "
        "The night is made of the right ones; look for a changed machine or library."
    )


def _reasons(report: Report) -> Iterator[str]:
    for code, symbols in sorted(report.refused.items()):
        yield f"Left out, {code}: {_named(sorted(symbols))}."
    for rule, (bars, symbols_touched) in report.findings.items():
        yield f"Found, {rule}: {bars:,} bars of {symbols_touched:,} symbols."
    if report.inferred:
        yield (
            f"Taken for crypto, since they trade on weekends: {_named(report.inferred)}; an asset "
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
            f"others reach them ({_named(report.later)}); update the bars, or ask with --session."
        )


def _named(symbols: Sequence[str]) -> str:
    more = f" and {len(symbols) - SHOWN} more" if len(symbols) > SHOWN else ""
    return ", ".join(symbols[:SHOWN]) + more
