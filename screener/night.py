"""`screener nightly`, `screener night` and `screener detect`: making and keeping nights.

The nightly itself is imported by the commands that run it: it brings numba and Polars, 100 MB that
a serving process has no use for.
"""

from __future__ import annotations

import datetime as dt
import resource
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import orjson
import typer

from screener.console import err, fail, out, plainly, settings, table
from store.manifest import Manifest, replace_file
from store.nights import Nights

if TYPE_CHECKING:
    from nightly.reference import Adjustment
    from nightly.report import Report

nights_app = typer.Typer(
    no_args_is_help=True, help="List, show, verify, activate and prune sealed nights."
)

Bars = Annotated[
    str,
    typer.Option(
        help="`sample`, a folder of CSV or Parquet files (one a symbol), or one long table."
    ),
]
ReferenceTable = Annotated[
    Path | None,
    typer.Option(
        "--reference", help="CSV or Parquet: symbol, asset type, exchange, industry, country, ..."
    ),
]
Jobs = Annotated[int | None, typer.Option(min=1, help="Processes; one a core when left out.")]
Version = Annotated[str, typer.Argument(help="The data_version of a sealed night.")]
MaybeVersion = Annotated[
    str | None,
    typer.Argument(help="The data_version of a sealed night; the active one if left out."),
]

SHOWN = 8
"""Symbols named for each reason; `screener night show` names them all."""


def nightly(
    bars: Bars = "sample",
    reference: ReferenceTable = None,
    adjustment: Annotated[
        str, typer.Option(help="What the bars are: split, none (raw) or split+div.")
    ] = "split",
    session: Annotated[
        str | None, typer.Option(help="Use no bar after this date (YYYY-MM-DD).")
    ] = None,
    jobs: Jobs = None,
    accept_fall: Annotated[
        bool, typer.Option(help="Publish even if it covers far less than the night before.")
    ] = False,
) -> None:
    """Find patterns in daily bars, measure how they did, and seal it all as one night.

    A symbol with bad bars is left out and named; a failed night leaves the old one serving.
    """
    from screener.nightly import order_of, read_date, seal, timed, watched

    chosen = settings()
    with plainly(), timed() as seconds:
        order = order_of(
            chosen,
            bars,
            reference=reference,
            adjustment=_adjustment(adjustment),
            session=read_date(session),
            jobs=jobs,
            accept_fall=accept_fall,
        )
        with watched() as step:
            manifest, report = seal(chosen, order, step)
        _print_report(manifest, report, seconds())


@nights_app.command("list")
def list_nights() -> None:
    """List the sealed nights, newest session first; * marks the active one."""
    with plainly():
        nights = Nights(settings().data_dir)
        active = nights.active()
        listed = table("", "version", "session", "bars", "covered", "setups", "resolved", "MB")
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
def show(version: MaybeVersion = None) -> None:
    """Show a night's manifest, and whom it left out and why, as JSON."""
    with plainly():
        nights = Nights(settings().data_dir)
        manifest = nights.get(version) if version else nights.check_active()
        shown = {**manifest.model_dump(mode="json"), "report": nights.report(manifest)}
    out.print_json(orjson.dumps(shown).decode())


@nights_app.command("verify")
def verify(version: MaybeVersion = None) -> None:
    """Check that a night's book is byte for byte what was sealed."""
    with plainly():
        nights = Nights(settings().data_dir)
        manifest = nights.verify(version) if version else nights.check_active()
    out.print(f"{manifest.data_version} is what was sealed ({manifest.book.sha256}).")


@nights_app.command("activate")
def activate(version: Version) -> None:
    """Make a sealed night the active one, to roll back or forward."""
    with plainly():
        manifest = Nights(settings().data_dir).activate(version)
    out.print(f"{manifest.data_version} is active now, session {manifest.as_of_session}.")


@nights_app.command("prune")
def prune(keep: Annotated[int, typer.Option(min=1, help="How many to keep.")]) -> None:
    """Remove old nights and their charts; the active one always stays."""
    with plainly():
        removed = Nights(settings().data_dir).prune(keep)
    out.print(f"Removed {len(removed)}: {', '.join(removed) or 'nothing'}.")


def detect(
    bars: Bars,
    out_file: Annotated[Path, typer.Option("--out", help="The JSON file to write.")],
    reference: ReferenceTable = None,
    jobs: Jobs = None,
    detector: Annotated[
        str,
        typer.Option(
            help="`default`, which nights use, or `reference`, the prototype's, to compare with."
        ),
    ] = "default",
) -> None:
    """Write every version of every pattern that was served, session by session, for research."""
    from nightly.night import plan
    from nightly.parameters import DETECTORS
    from nightly.pool import run
    from nightly.research import versions
    from screener.nightly import order_of, watched

    if detector not in DETECTORS:
        fail(f"--detector {detector!r} is not one of {', '.join(DETECTORS)}.")
    find = partial(versions, parameters=DETECTORS[detector])
    chosen = settings()
    with plainly(), watched() as step:
        order = order_of(chosen, bars, reference=reference, jobs=jobs)
        looked = plan(order, dt.datetime.now(dt.UTC))
        found: list[dict[str, Any]] = []
        for done, batch in enumerate(run(find, looked.tasks, looked.jobs), 1):
            found += batch
            step("finding patterns", done, len(looked.tasks))
        try:
            replace_file(out_file, orjson.dumps(found, option=orjson.OPT_APPEND_NEWLINE))
        except OSError as error:
            fail(f"{out_file} cannot be written ({error.strerror}); choose another --out.")
    err.print(f"Wrote {len(found)} versions to {out_file}.")


def _adjustment(text: str) -> Adjustment:
    from nightly.reference import Adjustment

    if text not in get_args(Adjustment):
        fail(f"--adjustment {text!r} is not one of {', '.join(get_args(Adjustment))}.")
    return text  # type: ignore[return-value]


def _print_report(manifest: Manifest, report: Report, seconds: float) -> None:
    ours, workers = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    memory = max(resource.getrusage(who).ru_maxrss for who in (ours, workers))
    found = table("family", "forming", "running", "trades", "reached", "avg loss", "avg R")
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


def _reasons(report: Report) -> Iterator[str]:
    for code, symbols in sorted(report.refused.items()):
        named = ", ".join(sorted(symbols)[:SHOWN])
        more = f" and {len(symbols) - SHOWN} more" if len(symbols) > SHOWN else ""
        yield f"Left out, {code}: {named}{more}."
    for rule, (bars, symbols_touched) in report.findings.items():
        yield f"Found, {rule}: {bars:,} bars of {symbols_touched:,} symbols."
