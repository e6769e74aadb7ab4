"""Closing: a database whose accounts have moved refuses every write until it is reopened.

Triggers refuse, so whatever runs on it is told: a service, a command, a program of an older
version. They are made and dropped within the transaction of their caller.
"""

from __future__ import annotations

from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine

from store.database.migration import tables_of
from store.database.tables import OWN, accounts
from store.errors import DatabaseMovedError

MOVED: Final = "The accounts have moved to another database."
"""What the triggers say."""

SQLSTATE: Final = "MOVED"
"""What PostgreSQL answers; classes from I on are each program's own (SQL:2003, part 2, 24.1)."""

NAME: Final = "accounts_moved"
EVENTS: Final = ("insert", "update", "delete")


def close(connection: sa.Connection) -> None:
    """Refuse every write to a row of the accounts from the end of the transaction on."""
    reopen(connection)
    if connection.dialect.name == "sqlite":
        for table in _closable(connection):
            for event in EVENTS:
                when = f"BEFORE {event} ON {table} BEGIN SELECT RAISE(ABORT, '{MOVED}'); END"
                connection.exec_driver_sql(f"CREATE TRIGGER {NAME}_{table}_{event} {when}")
        return
    body = f"BEGIN RAISE EXCEPTION '{MOVED}' USING ERRCODE = '{SQLSTATE}'; END"
    connection.exec_driver_sql(
        f"CREATE FUNCTION {NAME}() RETURNS trigger LANGUAGE plpgsql AS $${body}$$"
    )
    for table in _closable(connection):
        when = f"BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON {table} FOR EACH STATEMENT"
        connection.exec_driver_sql(f"CREATE TRIGGER {NAME} {when} EXECUTE FUNCTION {NAME}()")


def reopen(connection: sa.Connection) -> None:
    """Take writes again; does nothing to a database that does."""
    for table in _closable(connection):
        if connection.dialect.name == "sqlite":
            for event in EVENTS:
                connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS {NAME}_{table}_{event}")
        else:
            connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS {NAME} ON {table}")
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"DROP FUNCTION IF EXISTS {NAME}()")


def is_closed(connection: sa.Connection) -> bool:
    """Whether the accounts of a database have moved."""
    if connection.dialect.name == "sqlite":
        query = sa.text("SELECT 1 FROM sqlite_master WHERE name = :name")
        query = query.bindparams(name=f"{NAME}_{accounts.name}_insert")
    else:
        found = "SELECT 1 FROM pg_trigger WHERE tgname = :name AND tgrelid = to_regclass(:table)"
        query = sa.text(found).bindparams(name=NAME, table=accounts.name)
    return connection.execute(query).first() is not None


def tell_of_moves(engine: AsyncEngine) -> None:
    """Let the engine's statements raise DatabaseMovedError where a closed database refuses them."""

    def translate(context: sa.engine.ExceptionContext) -> BaseException | None:
        return DatabaseMovedError() if _is_refusal(context.original_exception) else None

    sa.event.listen(engine.sync_engine, "handle_error", translate)


def _is_refusal(error: Any) -> bool:  # noqa: ANN401 - a driver's
    if getattr(error, "sqlite_errorname", None) == "SQLITE_CONSTRAINT_TRIGGER":
        return str(error) == MOVED
    return getattr(error, "sqlstate", None) == SQLSTATE


def _closable(connection: sa.Connection) -> list[str]:
    return [table.name for table in tables_of(connection).sorted_tables if table.name not in OWN]
