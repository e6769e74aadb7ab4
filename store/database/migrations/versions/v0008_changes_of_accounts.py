"""Changes of accounts: which accounts have changed in what decides who may call.

SQLite numbers the changes one by one and keeps the last one of each account. PostgreSQL numbers
them by their transactions: no row is written by more than one, so writers do not wait for each
other.
"""

from __future__ import annotations

import time

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

ACCOUNT = {
    "accounts": "{row}.id",
    "keys": "{row}.account_id",
    "grants": "{row}.account_id",
    "tokens": "(SELECT account_id FROM grants WHERE id = {row}.grant_id)",
    "watchlist": "{row}.account_id",
}
"""The account of a row. What has none is a change of all accounts, which is noted as of 0."""

UNIQUE = {
    "accounts": ("id", "email"),
    "keys": ("id", "prefix", "secret_hash"),
    "grants": ("id", "prefix"),
    "tokens": ("token_hash",),
}
"""What REPLACE deletes rows by, of which SQLite runs no trigger of deletion."""

NOTE = """
    INSERT INTO changes (account_id, id) SELECT coalesce({account}, 0), max(id) + 1 FROM changes;
    DELETE FROM changes
        WHERE account_id = coalesce({account}, 0) AND id < (SELECT max(id) FROM changes);
"""
"""Two plain statements: how a conflict of the statement outside is resolved counts in a trigger."""

ROWS = {"INSERT": ("NEW",), "UPDATE": ("OLD", "NEW"), "DELETE": ("OLD",)}

FUNCTION = """
    CREATE FUNCTION note_change() RETURNS trigger LANGUAGE plpgsql AS $$
        DECLARE
            accounts integer[] := ARRAY[0];
        BEGIN
            IF TG_OP <> 'TRUNCATE' THEN
                EXECUTE format(
                    'SELECT ARRAY(SELECT DISTINCT coalesce(%s, 0) FROM changed LIMIT 101)',
                    TG_ARGV[0]
                ) INTO accounts;
            END IF;
            IF cardinality(accounts) > 100 THEN
                accounts := ARRAY[0];
            END IF;
            INSERT INTO changes (account_id, id)
                SELECT unnest(accounts), pg_current_xact_id()::text::bigint ON CONFLICT DO NOTHING;
            PERFORM pg_notify('screener_changes', array_to_string(accounts, ','))
                WHERE accounts <> '{}';
            RETURN NULL;
        END
    $$
"""

STATEMENTS = {
    "insert": "INSERT ON {table} REFERENCING NEW TABLE AS changed",
    "before": "UPDATE ON {table} REFERENCING OLD TABLE AS changed",
    "after": "UPDATE ON {table} REFERENCING NEW TABLE AS changed",
    "delete": "DELETE ON {table} REFERENCING OLD TABLE AS changed",
    "truncate": "TRUNCATE ON {table}",
}


def upgrade() -> None:
    """Create the table and the triggers that write it, in place of what 0004 and 0007 made."""
    on_server = op.get_bind().dialect.name == "postgresql"
    if on_server:
        op.execute("DROP FUNCTION IF EXISTS note_change() CASCADE")
    for table in () if on_server else ACCOUNT:
        for event in ROWS:
            op.execute(f"DROP TRIGGER IF EXISTS changes_{table}_{event.lower()}")
    for table in ("changes", "changing_transactions"):
        op.execute(f"DROP TABLE IF EXISTS {table}")
    changes = op.create_table(
        "changes",
        sa.Column("account_id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False, server_default=sa.func.now()),
    )
    op.create_index("ix_changes_id", "changes", ["id"])
    # Whoever had read a table that was dropped and made again, finds that all have changed since.
    if on_server:
        op.execute("INSERT INTO changes SELECT 0, pg_current_xact_id()::text::bigint")
        op.execute("SELECT pg_notify('screener_changes', '0')")
        _note_on_postgresql()
    else:
        op.bulk_insert(changes, [{"account_id": 0, "id": time.time_ns() // 1000}])
        _note_on_sqlite()


def _note_on_sqlite() -> None:
    for table, account in ACCOUNT.items():
        for event, rows in ROWS.items():
            notes = "".join(NOTE.format(account=account.format(row=row)) for row in rows)
            when = f"AFTER {event} ON {table}"
            op.execute(f"CREATE TRIGGER changes_{table}_{event.lower()} {when} BEGIN {notes} END")
    for table, columns in UNIQUE.items():
        same = " OR ".join(f"{column} = NEW.{column}" for column in columns)
        for event, others in (("insert", ""), ("update", "AND rowid <> OLD.rowid")):
            replaced = f"SELECT 1 FROM {table} WHERE ({same}) {others}"  # noqa: S608 - ours
            when = f"BEFORE {event} ON {table} WHEN EXISTS ({replaced})"
            then = f"BEGIN {NOTE.format(account=0)} END"
            op.execute(f"CREATE TRIGGER changes_{table}_{event}_replaces {when} {then}")


def _note_on_postgresql() -> None:
    op.execute(FUNCTION)
    for table, account in ACCOUNT.items():
        argument = account.format(row="changed")
        for name, statement in STATEMENTS.items():
            when = f"AFTER {statement.format(table=table)} FOR EACH STATEMENT"
            then = f"EXECUTE FUNCTION note_change('{argument}')"
            op.execute(f"CREATE TRIGGER note_change_{name} {when} {then}")
