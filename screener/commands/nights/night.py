"""`screener nightly` and `screener night`: making and keeping nights.

Its own parts and the nightly, which brings numba and Polars, are imported by the commands that use
them (`screener.settings.console` says why).
"""

from __future__ import annotations

import datetime as dt
from typing import Annotated

import typer

from screener.settings.console import DRIFT, EXITS, Table, fail, out, plainly, settings
from screener.settings.options import Bars, Executor, Jobs, ReferenceTable, Symbol, read_adjustment
from store.errors import HeldBackError

nights_app = typer.Typer(
    no_args_is_help=True,
    help="List, show, compare, verify, activate, withdraw and prune sealed nights.",
)

MOST_FINDINGS = 30
"""Findings that a report shows unless all are asked for."""

Version = Annotated[str, typer.Argument(help="The data_version of a sealed night.")]
MaybeVersion = Annotated[
    str | None,
    typer.Argument(help="The data_version of a sealed night; the active one if left out."),
]


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
    from screener.commands.nights.difference import told
    from screener.commands.nights.nightly import order_of, seal, timed, try_out, working
    from screener.commands.nights.nightly import wait_for_session as wait
    from screener.commands.nights.report import print_report
    from screener.commands.patterns.setups import print_forming
    from screener.notify.messages import drift
    from screener.notify.send import notifying
    from screener.service.recording import recorded
    from screener.settings.options import read_date

    chosen = settings()
    with plainly(), notifying(chosen, bars, reference, dry_run=dry_run) as publish:
        stop_at, kind = read_date(session), read_adjustment(adjustment)
        if wait_for_session:
            wait(dt.timedelta(minutes=settle_minutes))
        with (
            timed() as seconds,
            working(chosen, executor) as (work, watch),
            recorded(chosen, bars, watch, reference, dry_run=dry_run) as step,
        ):
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
                manifest, report = seal(chosen, order, step, step.leave_out)
                step.publish(manifest, report)
                publish(manifest, report)
        print_report(manifest, report, seconds(), watch.seconds())
        if not dry_run:
            print_forming(chosen)
        if report.drifted:
            fail(drift(report.drifted), DRIFT)
        if dry_run:
            for line in told(found):
                out.print(line)
            out.print("Nothing was published.")
            if fall and not accept_fall:
                fail(f"{fall}; it would be held back.", EXITS[HeldBackError])


@nights_app.command("list")
def list_nights() -> None:
    """List the sealed nights, newest session first; * marks the active one, - a withdrawn one."""
    from screener.service.sharing import looking

    with plainly():
        nights = looking(settings())
        active, gone = nights.active(), nights.ledger.withdrawals()
        listed = Table("", "version", "session", "bars", "covered", "setups", "resolved", "MB")
        for night in nights.sealed():
            mark = "-" if night.data_version in gone else ""
            mark = "*" if active and night.data_version == active.data_version else mark
            counts = night.counts
            numbers = (counts.covered, counts.setups, counts.resolved)
            listed.add_row(
                mark,
                night.data_version,
                str(night.as_of_session),
                night.inputs.bars,
                *(str(number) for number in numbers),
                f"{night.book.bytes / 1e6:.1f}",
            )
    out.print(listed)


@nights_app.command("show")
def show(version: MaybeVersion = None) -> None:
    """Show a night's manifest, and which symbols it left out and why, as JSON."""
    from screener.service.sharing import looking

    with plainly():
        nights = looking(settings())
        manifest = nights.get(version) if version else nights.check_active()
        report = {k: v for k, v in nights.report(manifest).items() if k != "found"}
        shown = {**manifest.model_dump(mode="json"), "report": report}
    out.print_json(shown)


@nights_app.command("report")
def report(
    version: MaybeVersion = None,
    symbol: Annotated[str | None, typer.Option(help="Only this symbol.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Every finding.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, for programs.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="The findings as CSV.")] = False,
) -> None:
    """Show what was found in each symbol's bars and what was done, totals by rule first."""
    from screener.commands.nights.quality import Quality
    from screener.commands.nights.report import print_quality
    from screener.service.sharing import looking

    if as_json and as_csv:
        fail("--json and --csv exclude each other; give one of them.")
    with plainly():
        nights = looking(settings())
        manifest = nights.get(version) if version else nights.check_active()
        stored = nights.report(manifest)
        quality = Quality.of(stored, symbol.upper() if symbol else None)
    if as_json:
        out.print_json(quality.as_dict())
    elif as_csv:
        out.print_csv(quality.rows())
    else:
        most = None if every or symbol else MOST_FINDINGS
        print_quality(manifest, quality, stored.get("wider", ""), most)


@nights_app.command("changes")
def changes(
    version: MaybeVersion = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, for programs.")] = False,
) -> None:
    """Show what changed with a night: setups that are new, triggered or ended, and why."""
    from screener.commands.nights.changes import as_dict, told
    from screener.service.sharing import looking

    with plainly():
        nights = looking(settings())
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
    from screener.service.sharing import looking

    with plainly():
        nights = looking(settings())
        manifest = nights.verify(version) if version else nights.check_active()
    out.print(f"{manifest.data_version} is what was sealed ({manifest.book.sha256}).")


@nights_app.command("activate")
def activate(version: Version) -> None:
    """Make a sealed night the active one, to roll back or forward."""
    from screener.service.sharing import changing

    with plainly(), changing(settings()) as nights:
        manifest = nights.activate(version)
    out.print(f"{manifest.data_version} is active now, session {manifest.as_of_session}.")


@nights_app.command("withdraw")
def withdraw(
    version: Version,
    reason: Annotated[
        str, typer.Option(help="Why, in 1 to 500 printable characters; readers see it.")
    ],
) -> None:
    """Withdraw a night for good: it is never served or made again, and the ledger says why.

    If it is active, the newest other night of its session or before becomes active.
    """
    from screener.notify import messages
    from screener.notify.send import notify, served
    from screener.service.sharing import changing

    chosen = settings()
    with plainly(), changing(chosen) as nights:
        gone = nights.get(version)
        successor = nights.withdraw(version, reason, dt.datetime.now(dt.UTC))
    out.print(f"{version} is withdrawn.")
    if successor:
        out.print(f"{successor.data_version} is active now, session {successor.as_of_session}.")
    notify(chosen, lambda: messages.withdrawn(chosen.url, gone, reason, served(chosen)))


@nights_app.command("prune")
def prune(keep: Annotated[int, typer.Option(min=1, help="How many to keep.")]) -> None:
    """Remove old and withdrawn nights and their charts; the active one always stays."""
    from screener.service.sharing import changing

    with plainly(), changing(settings()) as nights:
        removed = nights.prune(keep)
    out.print(f"Removed {len(removed)}: {', '.join(removed) or 'nothing'}.")
