"""`screener bars`: a local store of daily bars, fetched from a provider and kept up to date.

Providers and Polars are imported by the commands that need them (`screener.console` says why).
"""

from __future__ import annotations

import datetime as dt
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from screener.console import USAGE, Table, err, fail, out, plainly, settings
from screener.night import Jobs, ReferenceTable, Symbol

if TYPE_CHECKING:
    from nightly.providers.fetch import Fetched

bars_app = typer.Typer(
    no_args_is_help=True, help="Fetch daily bars from a provider, and list those that are kept."
)

PARTIAL = 1
"""The exit code when some symbols failed and others did not."""
SHOWN = 20
"""Failures that are named; more are counted."""

Store = Annotated[
    Path | None,
    typer.Option("--store", help="Folder of the bars; `bars` in the data folder if left out."),
]


@bars_app.command("fetch")
def fetch(
    provider: Annotated[str, typer.Option(help="yfinance, or ccxt:EXCHANGE such as ccxt:binance.")],
    symbols: Annotated[
        str | None,
        typer.Option(
            help="As the provider spells them: AAPL,MSFT or @FILE; those kept if left out."
        ),
    ] = None,
    since: Annotated[
        str | None, typer.Option(help="First day (YYYY-MM-DD); all there are if left out.")
    ] = None,
    store: Store = None,
    url: Annotated[
        str | None, typer.Option(help="Another address of the provider's interface: a mirror.")
    ] = None,
) -> None:
    """Fetch the bars that are missing up to the last finished day; `--bars` reads the folder.

    Exits with 1 if some symbols failed, with 2 if all did. Run it again to go on.
    """
    from nightly.providers.fetch import Fetcher
    from nightly.providers.kept import BarStore
    from nightly.providers.provider import open_provider
    from screener.nightly import read_date, watched

    with plainly():
        kept, first = BarStore(_folder(store)), read_date(since, "--since")
        wanted = _symbols(symbols) or [
            known.origin.symbol for known in kept.all() if known.origin.provider == provider
        ]
        if not wanted:
            fail(f"No symbol of {provider} is kept yet; name some with --symbols.")
        opened = open_provider(provider, url)
        kept.prepare()
        fetcher = Fetcher(opened, kept, dt.datetime.now(dt.UTC), time.sleep, first)
        done: list[Fetched] = []
        with watched() as step:
            step("fetching bars", 0, len(wanted))
            for fetched in fetcher.run(wanted):
                done.append(fetched)
                step("fetching bars", len(done), len(wanted))
    _print(done, kept.folder)
    failed = sum(fetched.status == "failed" for fetched in done)
    if failed:
        raise typer.Exit(USAGE if failed == len(done) else PARTIAL)


@bars_app.command("list")
def list_bars(store: Store = None) -> None:
    """List the symbols that are kept, with their first and last day."""
    from nightly.providers.kept import BarStore

    with plainly():
        listed = Table("symbol", "provider", "spelled", "bars", "first", "last")
        for kept in BarStore(_folder(store)).all():
            days = kept.bars["date"]
            ends = (str(days.min() or "-"), str(days.max() or "-"))
            origin = kept.origin
            listed.add_row(kept.symbol, origin.provider, origin.symbol, str(len(days)), *ends)
    out.print(listed)


@bars_app.command("check")
def check_bars(
    path: Annotated[
        str, typer.Argument(help="A folder or zip of files, or one file, as for `nightly --bars`.")
    ],
    reference: ReferenceTable = None,
    adjustment: Annotated[
        str, typer.Option(help="What the bars are: split, none (raw) or split+div.")
    ] = "split",
    symbol: Symbol = None,
    jobs: Jobs = None,
    as_json: Annotated[bool, typer.Option("--json", help="All of it as JSON.")] = False,
) -> None:
    """Say what a night would make of some bars: what is read, and what is left out and why.

    It writes nothing. Exits with 2 if no symbol can be used.
    """
    from nightly.check import check
    from nightly.sources import read_source
    from screener.check import print_check
    from screener.night import read_adjustment
    from screener.nightly import order_of, watched

    with (
        plainly(),
        tempfile.TemporaryDirectory(prefix="pattern-screener-") as work,
        watched() as step,
    ):
        order = order_of(
            settings(),
            path,
            work=Path(work),
            step=step,
            opening=read_source,
            symbol=symbol,
            reference=reference,
            adjustment=read_adjustment(adjustment),
            jobs=jobs,
        )
        found = check(order, dt.datetime.now(dt.UTC), step)
    if as_json:
        out.print_json(found.as_dict())
    else:
        print_check(path, found)
    if not found.covered:
        fail(f"No symbol of {path} can be used; the lines above say why.")


def _folder(store: Path | None) -> Path:
    return store or settings().data_dir / "bars"


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
    found = list(dict.fromkeys(word for word in words if word and not word.startswith("#")))
    if not found:
        fail("--symbols names no symbol; write it as AAPL,MSFT or @FILE.")
    return found


def _print(done: Sequence[Fetched], folder: Path) -> None:
    shown = Table("symbol", "result", "bars added", "first", "last")
    moved = [fetched for fetched in done if fetched.status not in ("current", "failed")]
    for fetched in moved[:SHOWN]:
        days = (str(fetched.first), str(fetched.last))
        shown.add_row(fetched.symbol, fetched.status, str(fetched.added), *days)
    if moved:
        out.print(shown)
    if len(moved) > SHOWN:
        out.print(f"And {len(moved) - SHOWN} more.")
    refetched = [fetched.symbol for fetched in done if fetched.status == "refetched"]
    if refetched:
        named = ", ".join(refetched[:SHOWN])
        out.print(f"Fetched anew as a whole, for their history moved or goes further back: {named}")
    failed = [fetched for fetched in done if fetched.status == "failed"]
    for fetched in failed[:SHOWN]:
        err.print(f"Failed: {fetched.symbol}: {fetched.reason}")
    counts = Counter(fetched.status for fetched in done)
    told = ", ".join(f"{number} {status}" for status, number in sorted(counts.items()))
    out.print(f"{len(done)} symbols: {told}; kept in {folder}")
