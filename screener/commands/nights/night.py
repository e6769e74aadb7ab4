"""`screener nightly` and `screener night`: making and keeping nights.

Its own parts and the nightly, which brings numba and Polars, are imported by the commands that use
them (`screener.settings.console` says why).
"""

from __future__ import annotations

import datetime as dt
import time
from dataclasses import asdict, astuple, replace
from typing import TYPE_CHECKING, Annotated

import typer

from screener.commands.bars_options import BarsOptions
from screener.commands.groups import group
from screener.settings.console import DRIFT, EXITS, Table, fail, out, settings
from store.errors import HeldBackError

if TYPE_CHECKING:
    from store.ledger.manifest import Manifest
    from store.nights.nights import Nights

nights_app = group(
    "List, show, compare, verify, activate, withdraw and prune nights.", "screener night list"
)

MAX_FINDINGS = 30
"""Findings that a report shows unless all are asked for."""

Version = Annotated[
    str, typer.Argument(help="The data_version of a night, as `screener night list` prints it.")
]
MaybeVersion = Annotated[
    str | None,
    typer.Argument(help="The data_version of a night; the active one if unset."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


def nightly(
    options: BarsOptions,
    wait_for_session: Annotated[
        bool, typer.Option(help="Wait for the end of the current session first.")
    ] = False,
    settle_minutes: Annotated[
        int,
        typer.Option(
            min=0, help="With --wait-for-session: minutes after the close until bars are final."
        ),
    ] = 60,
    dry_run: Annotated[
        bool, typer.Option(help="Publish nothing; only print what would change.")
    ] = False,
    full: Annotated[
        bool,
        typer.Option(help="Compute everything again and compare with the last night."),
    ] = False,
    accept_fall: Annotated[
        bool,
        typer.Option(help="Publish even if it has far fewer symbols, or many are behind."),
    ] = False,
) -> None:
    """Scan daily bars for patterns and publish the result as a new night.

    Without --bars it scans the sample. Symbols with bad bars are left out and listed. If it fails,
    the old night stays active. docs/operate.md lists the exit codes.

    \b
    screener nightly
    screener nightly --bars ~/bars
    screener nightly --bars ~/bars --exchange XNSE --dry-run
    """
    from screener.commands.analysis.origin import note_origin
    from screener.commands.nightly import make_and_publish, order_of, try_out, working
    from screener.commands.nightly import wait_for_session as wait
    from screener.commands.nights.report import print_report
    from screener.commands.patterns.setups import print_forming
    from screener.notify.messages import drift
    from screener.notify.send import notifying
    from screener.service.recording import recorded

    chosen, bars, reference = settings(), options.bars, options.reference
    with notifying(chosen, bars, reference, dry_run=dry_run) as tell:
        if wait_for_session:
            wait(dt.timedelta(minutes=settle_minutes), options.exchange)
        began = time.perf_counter()
        with (
            working(chosen, options.executor) as (work, watch),
            recorded(chosen, bars, watch, reference, dry_run=dry_run) as step,
        ):
            order = replace(
                order_of(chosen, options, work=work, step=step),
                accept_fall=accept_fall,
                full=full,
                only_new=not (dry_run or full),
            )
            if dry_run:
                manifest, report, fall = try_out(chosen, order, step)
            else:
                manifest, report = make_and_publish(chosen, order, step, step.leave_out)
                note_origin(chosen, options, manifest)
                step.note_published(manifest, report)
                tell(manifest, report)
        print_report(manifest, report, time.perf_counter() - began, watch.seconds())
        if not dry_run:
            print_forming(chosen)
        if report.drifted:
            fail(drift(report.drifted), DRIFT)
        if dry_run:
            out.print("Nothing was published.")
            if fall and not accept_fall:
                fail(f"{fall}; it would be held back.", EXITS[HeldBackError])


@nights_app.command("list")
def list_nights() -> None:
    """List all nights, newest first; * marks the active one, - a withdrawn one."""
    nights = _nights()
    active, withdrawn = nights.active(), nights.ledger.withdrawals()
    listed = Table("", "version", "session", "bars", "covered", "setups", "resolved", "MB")
    for night in nights.sealed():
        mark = "-" if night.data_version in withdrawn else ""
        counts = night.counts
        listed.add_row(
            "*" if active and night.data_version == active.data_version else mark,
            night.data_version,
            str(night.as_of_session),
            night.inputs.bars,
            *map(str, (counts.covered, counts.setups, counts.resolved)),
            f"{night.book.bytes / 1e6:.1f}",
        )
    out.print(listed)


@nights_app.command("show")
def show(version: MaybeVersion = None) -> None:
    """Show a night as JSON: its counts, and the symbols that it left out, with reasons."""
    nights, manifest = _night(version)
    report = {k: v for k, v in nights.report(manifest).items() if k != "found"}
    out.print_json({**manifest.model_dump(mode="json"), "report": report})


@nights_app.command("report")
def report(
    version: MaybeVersion = None,
    symbol: Annotated[str | None, typer.Option(help="Only this symbol.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Every finding.")] = False,
    as_json: AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV for spreadsheets.")] = False,
) -> None:
    """Show the faults in each symbol's bars and what was done about them, totals first."""
    from screener.commands.analysis.quality import (
        SymbolFinding,
        findings_of,
        print_findings,
        totals_of,
    )

    if as_json and as_csv:
        fail("--json and --csv exclude each other; give one of them.")
    nights, manifest = _night(version)
    stored = nights.report(manifest)
    findings = findings_of(stored, symbol.upper() if symbol else None)
    if as_json:
        totals = [asdict(total) for total in totals_of(findings)]
        out.print_json({"totals": totals, "findings": [asdict(each) for each in findings]})
    elif as_csv:
        out.print_csv([SymbolFinding.__slots__, *map(astuple, findings)])
    else:
        most = None if every or symbol else MAX_FINDINGS
        print_findings(manifest, findings, stored.get("wider", ""), most)


@nights_app.command("changes")
def changes(version: MaybeVersion = None, as_json: AsJson = False) -> None:
    """Show what changed since the night before: new, triggered, ended and gone setups."""
    from screener.commands.nights.changes import changes_as_dict, print_changes

    nights, manifest = _night(version)
    with nights.book(manifest) as book:
        if as_json:
            out.print_json(changes_as_dict(book))
        else:
            print_changes(book)


@nights_app.command("verify")
def verify(version: MaybeVersion = None) -> None:
    """Check that a night is unchanged since it was published, byte for byte."""
    nights = _nights()
    manifest = nights.verify(version) if version else nights.check_active()
    out.print(f"{manifest.data_version} is what was sealed ({manifest.book.sha256}).")


@nights_app.command("activate")
def activate(version: Version) -> None:
    """Roll back or forward: serve another night."""
    from screener.service.sharing import changing

    with changing(settings()) as nights:
        manifest = nights.activate(version)
    out.print(f"{manifest.data_version} is active now, session {manifest.as_of_session}.")


@nights_app.command("withdraw")
def withdraw(
    version: Version,
    reason: Annotated[str, typer.Option(help="The reason that readers see, 1 to 500 characters.")],
) -> None:
    """Retract a night for good: it is never served or made again, and readers see the reason.

    If it is active, the newest remaining night up to its session takes its place.
    """
    from screener.notify import messages
    from screener.notify.send import notify
    from screener.service.sharing import changing, served

    chosen = settings()
    with changing(chosen) as nights:
        withdrawn = nights.get(version)
        successor = nights.withdraw(version, reason, dt.datetime.now(dt.UTC))
    out.print(f"{version} is withdrawn.")
    if successor:
        out.print(f"{successor.data_version} is active now, session {successor.as_of_session}.")
    notify(chosen, lambda: messages.withdrawn(chosen.url, withdrawn, reason, served(chosen)))


@nights_app.command("prune")
def prune(keep: Annotated[int, typer.Option(min=1, help="Number of nights to keep.")]) -> None:
    """Free disk space: remove old and withdrawn nights and their charts, never the active one."""
    from screener.service.sharing import changing

    with changing(settings()) as nights:
        removed = nights.prune(keep)
    out.print(f"Removed {len(removed)}: {', '.join(removed) or 'nothing'}.")


def _nights() -> Nights:
    """The nights, to be read."""
    from screener.service.sharing import looking

    return looking(settings())


def _night(version: str | None) -> tuple[Nights, Manifest]:
    """The nights, and one of them: the active one if none is named."""
    nights = _nights()
    return nights, nights.get(version) if version else nights.check_active()
