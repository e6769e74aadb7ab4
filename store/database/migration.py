"""Migration: the revision of the account database's schema, and the way to a newer one."""

from __future__ import annotations

from importlib import resources
from typing import Any

import sqlalchemy as sa

from store.database.tables import accounts, metadata
from store.errors import DatabaseError

HEAD = "0010"
"""The newest migration, which is the schema that this program needs."""

FIRST_REVISION = "0007"
"""The oldest schema that is migrated."""

LOCK_KEY = 7_305_118_264_932_101
"""The key of PostgreSQL's advisory lock under which one process migrates; any fixed number."""

WAIT_SECONDS = 60
"""Seconds that SQLite waits for another process that migrates; it is done after that."""

LOCK_MILLISECONDS = 800
"""For which a lock of all tables is waited for: less than the second after which PostgreSQL would
end one of two transactions that wait for each other.
"""

CLOSED = "moved_"
"""How the names of tables begin whose rows were copied to another database."""


def revision_of(connection: sa.Connection) -> str | None:
    """The revision of the schema; None of a database without one."""
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    revision: str | None = connection.scalar(sa.text("SELECT version_num FROM alembic_version"))
    return revision


def why_unknown(revision: str | None) -> str | None:
    """Why this program cannot use a database: the end of a sentence; None if it can."""
    if revision is not None and revision > HEAD:
        return f"is at schema {revision}, newer than this program's {HEAD}; run the newer version."
    if revision is not None and revision < FIRST_REVISION:
        return (
            f"is at schema {revision}, older than {FIRST_REVISION}, the first that this program "
            "migrates; an earlier version brings it there."
        )
    return None


def check_known(revision: str | None) -> None:
    """Check that this program knows a revision.

    Raises:
        DatabaseError: a newer program made it, or one that is too old.
    """
    if why := why_unknown(revision):
        raise DatabaseError(f"The account database {why}")


def wait_for_others(connection: sa.Connection) -> None:
    """Wait until no other transaction changes everything, and let none begin before this ends.
    One of SQLite that writes has waited at its start.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(LOCK_KEY)))


def hold(connection: sa.Connection) -> None:
    """Let nobody else use the accounts until the transaction ends: on PostgreSQL not even read. A
    transaction of SQLite that writes lets nobody else write from its start.

    Raises:
        DBAPIError: others use them.
    """
    names = ", ".join(table.name for table in reversed(tables_of(connection).sorted_tables))
    if names and connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{LOCK_MILLISECONDS}ms'")
        connection.exec_driver_sql(f"LOCK TABLE {names} IN ACCESS EXCLUSIVE MODE")


def close(connection: sa.Connection) -> None:
    """Let whoever uses the accounts fail from the end of the transaction on, a service, a command
    or a program of an older version: the tables have other names.
    """
    for name in tables_of(connection).tables:
        connection.exec_driver_sql(f"ALTER TABLE {name} RENAME TO {CLOSED}{name}")


def is_closed(connection: sa.Connection) -> bool:
    """Whether the accounts have moved."""
    return sa.inspect(connection).has_table(f"{CLOSED}{accounts.name}")


def reopen(connection: sa.Connection) -> bool:
    """Let the accounts be used again; returns whether they were closed."""
    present = set(sa.inspect(connection).get_table_names())
    closed = [name for name in metadata.tables if f"{CLOSED}{name}" in present]
    for name in closed:
        connection.exec_driver_sql(f"ALTER TABLE {CLOSED}{name} RENAME TO {name}")
    return bool(closed)


def upgrade(connection: sa.Connection, target: str = HEAD) -> None:
    """Migrate within the connection's transaction, one of `exclusive`: whoever comes second finds
    it done.

    Raises:
        DatabaseError: a newer program has migrated the database meanwhile, or another program has
            tables of these names there.
    """
    # Imported here because it is slow to load and an up-to-date database does not need it.
    from alembic import command
    from alembic.config import Config

    revision = revision_of(connection)
    check_known(revision)
    if revision is None and (foreign := sorted(tables_of(connection).tables)):
        raise DatabaseError(
            f"The account database is another program's: it has a table {foreign[0]}; set the URL "
            "of a database that only this service uses."
        )
    config = Config()
    config.set_main_option("script_location", str(resources.files("store.database") / "migrations"))
    config.attributes["connection"] = connection
    command.upgrade(config, target)


def tables_of(connection: sa.Connection) -> sa.MetaData:
    """The account tables as the database has them, which may be those of an older revision."""
    found = sa.MetaData()
    there = set(sa.inspect(connection).get_table_names())
    names = [name for name in metadata.tables if name in there]
    found.reflect(connection, only=names)
    return found


def drop(connection: sa.Connection) -> None:
    """Drop the account tables and all they hold, within the connection's transaction."""
    tables_of(connection).drop_all(connection)
    for table in ("alembic_version", "changing_transactions"):  # this was one until 0008
        connection.execute(sa.text(f"DROP TABLE IF EXISTS {table}"))
    if connection.dialect.name == "postgresql":
        for function in ("audit_lasts", "note_change"):
            connection.execute(sa.text(f"DROP FUNCTION IF EXISTS {function}()"))


def faults(connection: sa.Connection) -> list[str]:
    """What is wrong with the stored rows, in words; SQLite's own checks, and dangling references
    on both.
    """
    found: list[str] = []
    if connection.dialect.name == "sqlite":
        rows = connection.exec_driver_sql("PRAGMA integrity_check").scalars()
        found += [f"the file is damaged: {row}" for row in rows if row != "ok"]
    for table in metadata.sorted_tables:
        for key in table.foreign_keys:
            if count := connection.scalar(_dangling(table, key)):
                found.append(f"rows of {table.name} without their {key.column.table.name}: {count}")
    return found


def _dangling(table: sa.Table, key: sa.ForeignKey) -> sa.Select[Any]:
    other = key.column.table.alias()
    named = sa.select(other.c[key.column.name]).where(other.c[key.column.name] == key.parent)
    return (
        sa.select(sa.func.count())
        .select_from(table)
        .where(key.parent.is_not(None), ~named.exists())
    )
