"""`screener db`: the schema of the account database, whether it is sound, and moving it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from screener.commands.groups import group
from screener.settings.console import Table, err, out, prepare_data_dir, settings, warn, watched
from screener.settings.errors import EndedError

if TYPE_CHECKING:
    from screener.settings.settings import Settings
    from store.database.database import Database

db_app = group("Bring the account database up to date, check or copy it.", "screener db check")

FAULT = 1
"""The exit code of a check that found something."""

CONFIGURED = "-"
"""What stands for the database that the settings name."""

DATABASE_HELP = "A URL, the path of an SQLite file, or - for the one that the settings name."

T = TypeVar("T")


@db_app.command("upgrade")
def upgrade() -> None:
    """Migrate the account database to this program's schema. Back it up first.

    `screener serve` and every command that uses accounts do this by themselves, in one transaction.
    Only a backup leads back to the older schema.
    """
    from store.database.migration import HEAD

    before = _on_databases(lambda database: database.migrate(), CONFIGURED)
    if before == HEAD:
        out.print(f"The account database is at schema {HEAD} already.")
    else:
        out.print(f"The account database went from schema {before or 'none'} to {HEAD}.")


@db_app.command("check")
def check() -> None:
    """Check the account database: its schema, its file, and that its rows belong together.

    It changes nothing. The exit code is 0 if all is well, and 1 if there is something to do, which
    it prints. It reads all rows: some seconds for a million.
    """
    from store.database.migration import HEAD, why_unknown
    from store.errors import DatabaseMovedError

    async def work(database: Database) -> list[str]:
        revision = await database.revision()
        if revision is None:
            return ["there are no tables yet; `screener db upgrade` makes them."]
        if why := why_unknown(revision):
            return [f"it {why}"]
        if revision != HEAD:
            return [f"schema {revision} is older than {HEAD}; back up, then `screener db upgrade`."]
        try:
            faults = await database.faults()
        except DatabaseMovedError as error:
            return [str(error)]
        return [f"{fault}; restore a backup (docs/upkeep.md)." for fault in faults]

    faults = _on_databases(work, CONFIGURED)
    for fault in faults:
        err.print(f"screener: the account database: {fault}")
    if faults:
        raise EndedError(FAULT)
    out.print(f"The account database is sound, at schema {HEAD}.")


@db_app.command("copy")
def copy(
    origin: Annotated[str, typer.Argument(metavar="FROM", help=DATABASE_HELP)],
    target: Annotated[str, typer.Argument(metavar="TO", help=DATABASE_HELP)],
    leave_open: Annotated[
        bool, typer.Option("--leave-open", help="Keep FROM open, to try the copy.")
    ] = False,
) -> None:
    """Copy all accounts into an empty database, SQLite or PostgreSQL. Stop the service first.

    It copies and compares all rows, or changes nothing. Then it closes FROM: a service that still
    runs on it refuses calls with a key. Set SCREENER_DATABASE_URL to TO and start the service.
    `screener db reopen FROM` undoes that. Others on this machine can see a password in an
    argument: write - for the database in SCREENER_DATABASE_URL, or keep the password in ~/.pgpass.
    """
    from store.backup.copy import copy as copy_rows

    async def work(first: Database, second: Database) -> Mapping[str, int]:
        with watched() as watch:
            return await copy_rows(first, second, leave_open=leave_open, progress=watch)

    counts = _on_databases(work, origin, target)
    table = Table("table", "rows", right=("rows",))
    for name, count in counts.items():
        table.add_row(name, f"{count:,}")
    out.print(table)
    out.print(f"Copied and compared {sum(counts.values()):,} rows.")
    if not leave_open:
        out.print("FROM is closed: name TO in SCREENER_DATABASE_URL and restart the service.")


@db_app.command("reopen")
def reopen(
    database: Annotated[str, typer.Argument(metavar="DATABASE", help=DATABASE_HELP)],
) -> None:
    """Go back to a database that `screener db copy` closed.

    It lacks every change made in the copy since then.
    """
    from store.backup.copy import reopen_accounts

    was_closed = _on_databases(reopen_accounts, database)
    out.print("It can be used again." if was_closed else "It can be used already.")


def _on_databases(work: Callable[..., Coroutine[Any, Any, T]], *named: str) -> T:
    import anyio

    chosen = settings()

    async def run() -> T:
        if CONFIGURED in named:
            prepare_data_dir(chosen)
        async with AsyncExitStack() as stack:
            opened = [chosen.database(_url(name, chosen)) for name in named]
            return await work(*[await stack.enter_async_context(each) for each in opened])

    return anyio.run(run)


def _url(named: str, chosen: Settings) -> str:
    """The URL of a database that an argument names."""
    if named == CONFIGURED:
        return chosen.accounts_url
    from store.database.problems import without_password

    if "://" not in named:
        return f"sqlite+aiosqlite:///{Path(named).absolute()}"
    if without_password(named) != named:
        warn("others on this machine can see the password; keep it in ~/.pgpass, or write -.")
    scheme, _, rest = named.partition("://")
    return f"sqlite+aiosqlite://{rest}" if scheme == "sqlite" else named
