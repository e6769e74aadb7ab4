"""`screener db`: the schema of the account database, and whether it is sound."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from screener.console import err, out, plainly, prepare_data_dir, settings

if TYPE_CHECKING:
    from store.database import Database

db_app = typer.Typer(
    no_args_is_help=True, help="Bring the account database up to date, or check it."
)

FAULT = 1
"""The exit code of a check that found something."""

T = TypeVar("T")


@db_app.command("upgrade")
def upgrade() -> None:
    """Migrate the account database to this program's schema. Back it up first.

    Every command that uses accounts does that too, as does `screener serve` at its start. It runs
    once, in one transaction, however many begin it together. There is no way back but a backup.
    """
    from store.migration import HEAD

    before = _on_database(lambda database: database.migrate())
    if before == HEAD:
        out.print(f"The account database is at schema {HEAD} already.")
    else:
        out.print(f"The account database went from schema {before or 'none'} to {HEAD}.")


@db_app.command("check")
def check() -> None:
    """Check the account database: its schema, its file, and that its rows belong together.

    Nothing is changed. It ends with 0 if all is well, with 1 if there is something to do, and says
    what. All rows are read, which takes some seconds for a million.
    """
    from store.migration import HEAD

    async def work(database: Database) -> list[str]:
        revision = await database.revision()
        if revision == HEAD:
            faults = await database.faults()
            advice = "; restore a backup (docs/backup.md)."
            return [f"{fault}{advice}" for fault in faults]
        if revision is None:
            return ["there are no tables yet; `screener db upgrade` makes them."]
        if revision > HEAD:
            return [f"schema {revision} is newer than this program's {HEAD}; run the newer one."]
        return [f"schema {revision} is older than {HEAD}; back up, then `screener db upgrade`."]

    faults = _on_database(work)
    for fault in faults:
        err.print(f"screener: the account database: {fault}")
    if faults:
        raise typer.Exit(FAULT)
    out.print(f"The account database is sound, at schema {HEAD}.")


def _on_database(work: Callable[[Database], Coroutine[Any, Any, T]]) -> T:
    import anyio

    from screener.databases import database_of

    chosen = settings()

    async def run() -> T:
        prepare_data_dir(chosen)
        database = database_of(chosen)
        try:
            return await work(database)
        finally:
            await database.close()

    with plainly():
        return anyio.run(run)
