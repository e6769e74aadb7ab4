"""`screener bars`: a local store of daily bars, fetched from a provider and kept up to date.

Providers and Polars are imported by the commands that need them (`screener.settings.console`
says why).
"""

from __future__ import annotations

import datetime as dt
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated

import typer

from screener.commands.bars_options import BarsOptions, read_date, reading_bars
from screener.commands.groups import group
from screener.settings.console import (
    INTERRUPTED,
    USAGE,
    Table,
    err,
    fail,
    out,
    prepare_data_dir,
    settings,
    watched,
)
from screener.settings.errors import EndedError
from store.folder.layout import DataFolder
from store.wire.words import named

if TYPE_CHECKING:
    from screener.nightly.fetching.fetch import Fetched, FetchRun

bars_app = group(
    "Check daily bars, fetch them from a provider, list those stored.", "screener bars check sample"
)

PARTIAL = 1
"""The exit code when the bars of some symbols are missing and those of others are not."""
MAX_LISTED = 20
"""Failures that are named; more are counted."""

Store = Annotated[
    Path | None,
    typer.Option("--store", help="Folder for the bars; `bars` in the data folder if unset."),
]


@bars_app.command("fetch")
def fetch(
    provider: Annotated[str, typer.Option(help="yfinance, or ccxt:EXCHANGE such as ccxt:binance.")],
    symbols: Annotated[
        str | None,
        typer.Option(
            help="In the provider's spelling: AAPL,MSFT or @FILE; the stored ones if unset."
        ),
    ] = None,
    since: Annotated[
        dt.date | None,
        typer.Option(
            parser=lambda text: read_date(text, "--since"),
            metavar="YYYY-MM-DD",
            help="First day; the earliest available if unset.",
        ),
    ] = None,
    store: Store = None,
    url: Annotated[
        str | None, typer.Option(help="Another URL for the provider's API, such as a mirror.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Download missing daily bars from Yahoo or a crypto exchange.

    Then make a night with `screener nightly --bars FOLDER`. If some symbols fail, the others are
    still fetched. The exit code is 1 if some are missing, 2 if all are, and 130 after Ctrl-C. Run
    it again to continue.
    """
    from screener.nightly.fetching.bar_store import BarStore
    from screener.nightly.fetching.fetch import FetchRun, Updater
    from screener.nightly.fetching.provider import open_provider

    if store is None:
        prepare_data_dir(settings())
    stored = BarStore(_folder(store))
    wanted = _symbols(symbols) or [
        series.origin.symbol for series in stored.all() if series.origin.provider == provider
    ]
    if not wanted:
        fail(f"No symbol of {provider} is stored yet; name some with --symbols.")
    opened = open_provider(provider, url)
    stored.prepare()
    ending = Event()
    updater = Updater(opened, stored, dt.datetime.now(dt.UTC), ending.wait, since)
    run = FetchRun(updater, wanted)
    done, interrupted = _follow(run, ending, len(wanted))
    report = _report_json if as_json else _report
    report(done, run.gave_up, stored.folder)
    missing = sum(fetched.missing for fetched in done)
    if interrupted:
        raise EndedError(INTERRUPTED)
    if missing:
        raise EndedError(USAGE if missing == len(done) else PARTIAL)


def _follow(run: FetchRun, ending: Event, total: int) -> tuple[list[Fetched], bool]:
    """The results of a run, and whether Ctrl-C ended it. Whatever ends it, what is under way is
    waited for, but not tried again.
    """

    done: list[Fetched] = []
    interrupted = False
    with watched() as step:
        try:
            step("fetching bars", 0, total)
            for fetched in run.results():
                done.append(fetched)
                step("fetching bars", len(done), total)
        except KeyboardInterrupt:
            interrupted = True
            err.print("Stopping, once the requests under way are finished.")
        ending.set()
        return done + run.end("The run was interrupted."), interrupted


@bars_app.command("list")
def list_bars(store: Store = None) -> None:
    """List the fetched symbols with their first and last day."""
    from screener.nightly.fetching.bar_store import BarStore

    listed = Table("symbol", "provider", "spelled", "bars", "first", "last")
    for series in BarStore(_folder(store)).all():
        days, origin = series.bars["date"], series.origin
        ends = (str(days.min() or "-"), str(days.max() or "-"))
        listed.add_row(series.symbol, origin.provider, origin.symbol, str(len(days)), *ends)
    out.print(listed)


@bars_app.command("check")
@reading_bars("symbol", "reference", "adjustment", "exchange", "currency", "jobs")
def check_bars(
    options: BarsOptions,
    path: Annotated[
        str,
        typer.Argument(
            help="Bars as for `nightly --bars`: a folder or zip of files, or one file; also at "
            "s3://BUCKET/PLACE, gs:// or az://."
        ),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Check daily bars before a night: which rows are used, which symbols are left out, and why.

    It writes nothing. The exit code is 2 if no symbol can be used.
    """
    from screener.commands.analysis.quality import print_check
    from screener.commands.nightly import Work, order_of
    from screener.nightly.check import check

    options = replace(options, bars=path)
    with tempfile.TemporaryDirectory(prefix="pattern-screener-") as folder, watched() as step:
        work = Work(Path(folder))
        order = order_of(settings(), options, work=work, step=step, unusable=True)
        checked = check(order, dt.datetime.now(dt.UTC), step)
    if as_json:
        out.print_json(checked.as_dict())
    else:
        print_check(path, checked)
    if not checked.covered:
        fail(f"No symbol of {path} can be used; the lines above give the reason.")


def _folder(store: Path | None) -> Path:
    return store or DataFolder(settings().data_dir).bars


def _symbols(text: str | None) -> list[str]:
    """The symbols of `A,B`, or of a file with some a line after an @; each once, in order."""
    if text is None:
        return []
    if text.startswith("@"):
        try:
            text = Path(text[1:]).read_text(encoding="utf-8")
        except (OSError, UnicodeError) as error:
            fail(f"{text[1:]} cannot be read ({type(error).__name__}); name a file of symbols.")
    words = (word.strip() for line in text.splitlines() for word in line.split(","))
    symbols = list(dict.fromkeys(word for word in words if word and not word.startswith("#")))
    if not symbols:
        fail("--symbols names no symbol; write it as AAPL,MSFT or @FILE.")
    return symbols


def _report(done: Sequence[Fetched], gave_up: str, folder: Path) -> None:
    shown = Table("symbol", "result", "bars added", "first", "last")
    moved = [fetched for fetched in done if not fetched.missing and fetched.status != "current"]
    for fetched in moved[:MAX_LISTED]:
        days = (str(fetched.first), str(fetched.last))
        shown.add_row(fetched.symbol, fetched.status, str(fetched.added), *days)
    if moved:
        out.print(shown)
    if len(moved) > MAX_LISTED:
        out.print(f"And {len(moved) - MAX_LISTED} more.")
    if refetched := named(_symbols_of(done, "refetched"), MAX_LISTED):
        out.print(
            f"Fetched again in full, because their history changed or starts earlier: {refetched}"
        )
    failed = [fetched for fetched in done if fetched.status == "failed"]
    for fetched in failed[:MAX_LISTED]:
        err.print(f"Failed: {fetched.symbol}: {fetched.reason}")
    if len(failed) > MAX_LISTED:
        err.print(f"And {len(failed) - MAX_LISTED} more failed; --json names them all.")
    if gave_up:
        err.print(f"Ended early: {gave_up}")
    if untried := named(_symbols_of(done, "untried"), MAX_LISTED):
        err.print(f"Not tried: {untried}")
    counts = ", ".join(f"{number} {status}" for status, number in _counts(done).items())
    out.print(f"Symbols: {len(done)} ({counts}); stored in {folder}")


def _report_json(done: Sequence[Fetched], gave_up: str, folder: Path) -> None:
    out.print_json(
        {
            "store": str(folder),
            "counts": _counts(done),
            "ended_early": gave_up or None,
            "symbols": [fetched.as_dict() for fetched in done],
        }
    )


def _symbols_of(done: Sequence[Fetched], status: str) -> list[str]:
    return [fetched.symbol for fetched in done if fetched.status == status]


def _counts(done: Sequence[Fetched]) -> dict[str, int]:
    return dict(sorted(Counter(fetched.status for fetched in done).items()))
