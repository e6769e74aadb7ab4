"""The options of commands that read bars, in one value."""

from __future__ import annotations

import datetime as dt
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Concatenate, Literal, ParamSpec

import typer

from screener.nightly.errors import SourceError
from screener.settings.console import fail
from store.wire.exchanges import currency_code, exchange_named, exchanges

P = ParamSpec("P")

SAMPLE = "sample"

EARLIEST = dt.date(1900, 1, 1)
"""No day before it can be asked for, since the exchange's calendar is not known then."""

Adjustment = Literal["split", "none", "split+div"]
"""As `screener.nightly.bars.Adjustment`, which brings NumPy."""


def _exchange(text: str) -> str:
    exchange = exchange_named(text)
    if exchange is None:
        known = ", ".join(each.mic for each in exchanges())
        fail(f"--exchange {text!r} is not one of {known}.")
    return exchange.mic


def _currency(text: str) -> str:
    code = currency_code(text)
    if code is None:
        fail(f"--currency {text!r} is not a code of three letters, such as INR.")
    return code


def _local(text: str) -> Path:
    if "://" in text:
        fail("--reference takes a file of this machine; copy the table here first.")
    return Path(text)


def read_date(text: str, option: str = "--session") -> dt.date:
    """A day given on the command line.

    Raises:
        SourceError: it is not a date.
    """
    try:
        day = dt.date.fromisoformat(text)
    except ValueError as error:
        raise SourceError(f"{option} {text!r} is not a date; write it as 2024-03-08.") from error
    if day < EARLIEST:
        raise SourceError(f"{option} {text} is before {EARLIEST.year}; choose a later day.")
    return day


@dataclass(frozen=True, slots=True)
class BarsOptions:
    """Which bars a command reads, and how; each field is an option of the command."""

    bars: Annotated[
        str,
        typer.Option(
            help="`sample`, or bars in any usual form: a folder or zip of files, or one file; also "
            "at s3://BUCKET/PLACE, gs:// or az://."
        ),
    ] = SAMPLE
    symbol: Annotated[
        str | None,
        typer.Option(help="The symbol of --bars, if that is one series without a symbol."),
    ] = None
    reference: Annotated[
        Path | None,
        typer.Option(
            parser=_local,
            metavar="PATH",
            help="CSV or Parquet: symbol, asset type, exchange, industry, country, ...",
        ),
    ] = None
    adjustment: Annotated[
        Adjustment,
        typer.Option(help="How the prices are adjusted; none means raw."),
    ] = "split"
    exchange: Annotated[
        str | None,
        typer.Option(
            parser=_exchange,
            metavar="MIC",
            help="Exchange (MIC, such as XNSE) of symbols that state none.",
        ),
    ] = None
    currency: Annotated[
        str | None,
        typer.Option(
            parser=_currency,
            metavar="CODE",
            help="Currency of prices that state none, such as INR (GBX for pence).",
        ),
    ] = None
    session: Annotated[
        dt.date | None,
        typer.Option(
            parser=read_date,
            metavar="YYYY-MM-DD",
            help="Make the night of this date: no later bar is used.",
        ),
    ] = None
    min_quality: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=100,
            help="Lowest quality of a setup, 0 to 100; SCREENER_MIN_QUALITY if unset.",
        ),
    ] = None
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Number of processes; one per core if unset.")
    ] = None
    executor: Annotated[
        str | None,
        typer.Option(help="Dask cluster to use, as dask://HOST:PORT; this machine if unset."),
    ] = None


THE_SAMPLE = BarsOptions()


def reading_bars(
    *names: str,
) -> Callable[[Callable[Concatenate[BarsOptions, P], None]], Callable[P, None]]:
    """Give a command these options, all if none is named, as its first argument."""
    fields = inspect.signature(BarsOptions, eval_str=True).parameters.values()
    options = [field for field in fields if not names or field.name in names]

    def decorated(command: Callable[Concatenate[BarsOptions, P], None]) -> Callable[P, None]:
        @wraps(command)
        def called(*args: P.args, **given: P.kwargs) -> None:
            chosen: dict[str, Any] = {option.name: given.pop(option.name) for option in options}
            command(BarsOptions(**chosen), *args, **given)

        own = list(inspect.signature(command, eval_str=True).parameters.values())[1:]
        named = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in (*options, *own)]
        called.__signature__ = inspect.Signature(named)  # type: ignore[attr-defined]
        return called

    return decorated
