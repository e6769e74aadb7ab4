"""Options: what several commands that read bars are asked with."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from nightly.errors import SourceError
from screener.settings.console import fail

if TYPE_CHECKING:
    from nightly.bars import Adjustment

EARLIEST = dt.date(1900, 1, 1)
"""No day before it can be asked for, since the exchange's calendar is not known then."""

Bars = Annotated[
    str,
    typer.Option(
        help="`sample`, or bars in any usual form: a folder or zip of files, or one file; also at "
        "s3://BUCKET/PLACE, gs:// or az://."
    ),
]


def _local(text: str) -> Path:
    """The path of a file of this machine, as given on the command line."""
    if "://" in text:
        fail("--reference takes a file of this machine; copy the table here first.")
    return Path(text)


ReferenceTable = Annotated[
    Path | None,
    typer.Option(
        "--reference",
        parser=_local,
        metavar="PATH",
        help="CSV or Parquet: symbol, asset type, exchange, industry, country, ...",
    ),
]
Symbol = Annotated[
    str | None,
    typer.Option("--symbol", help="The symbol of --bars, if that is one series without a symbol."),
]
Jobs = Annotated[int | None, typer.Option(min=1, help="Processes; one per core if left out.")]
Executor = Annotated[
    str | None,
    typer.Option(
        help="A Dask cluster that does the work, dask://HOST:PORT; this machine if unset."
    ),
]


def read_adjustment(text: str) -> Adjustment:
    """What the bars are adjusted for, as given on the command line."""
    from nightly.bars import Adjustment

    if text not in get_args(Adjustment):
        fail(f"--adjustment {text!r} is not one of {', '.join(get_args(Adjustment))}.")
    return text  # type: ignore[return-value]


def read_date(text: str | None, option: str = "--session") -> dt.date | None:
    """A day given on the command line.

    Raises:
        SourceError: it is not a date.
    """
    if text is None:
        return None
    try:
        day = dt.date.fromisoformat(text)
    except ValueError as error:
        raise SourceError(f"{option} {text!r} is not a date; write it as 2024-03-08.") from error
    if day < EARLIEST:
        raise SourceError(f"{option} {text} is before {EARLIEST.year}; choose a later day.")
    return day
