"""`screener export`: a night as tables, for spreadsheets, SQL and data frames."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from screener.settings.console import out, settings, writing


def export(
    folder: Annotated[
        Path | None,
        typer.Argument(
            help="The folder to make; night-SESSION, such as night-2009-09-25, if unset."
        ),
    ] = None,
    form: Annotated[
        Literal["parquet", "csv", "sqlite"],
        typer.Option("--format", help="csv is a file for each table, sqlite one file."),
    ] = "parquet",
    night: Annotated[
        str | None,
        typer.Option(help="The data_version of a sealed night; the active one if unset."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the folder of an earlier export.")
    ] = False,
    columns: Annotated[
        bool, typer.Option("--columns", help="List every column with its unit, and write nothing.")
    ] = False,
) -> None:
    """Write a night as tables for Excel, SQLite or Polars: setups, trades, records and features.

    The table `night` identifies the night, and `columns` explains each column with its unit. An
    export that fails leaves no folder. Parquet needs Polars.

    \b
    screener export
    screener export sheets --format csv
    screener export tonight --format sqlite --force
    """
    from screener.commands.patterns.setups import open_active_night
    from screener.data.files import write_night

    if columns:
        _print_columns()
        return
    with open_active_night(settings(), night) as book:
        target = folder or Path(f"night-{book.session}")
        with writing(target, "folder"):
            write_night(book, form, target, replace=force)
        out.print(f"{target}: {form} of {book.data_version}, session {book.session}.")
        out.print_text(book.disclaimer)


def _print_columns() -> None:
    from screener.data.columns import tables

    for table, columns in tables().items():
        out.print(f"{table}:")
        for column in columns:
            of = ", ".join(filter(None, (column.type, column.unit)))
            out.print_text(f"{column.name} ({of}): {column.meaning}", "  ")
