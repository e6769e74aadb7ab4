"""Changing transactions: PostgreSQL notes which transactions change who may call, and tells of it.

No row is written by more than one transaction, so writers do not wait for each other.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

DECISIVE = ("accounts", "keys", "grants", "tokens", "watchlist")
NOTE = """
    BEGIN
        INSERT INTO changing_transactions (id) VALUES (pg_current_xact_id()::text::bigint)
            ON CONFLICT DO NOTHING;
        PERFORM pg_notify('screener_changes', '');
        RETURN NULL;
    END
"""


def upgrade() -> None:
    """Create the table and, on PostgreSQL, the triggers that write it."""
    op.create_table(
        "changing_transactions",
        sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False, server_default=sa.func.now()),
    )
    if op.get_bind().dialect.name != "postgresql":
        return
    op.execute(f"CREATE FUNCTION note_change() RETURNS trigger LANGUAGE plpgsql AS $${NOTE}$$")
    for table in DECISIVE:
        when = f"AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON {table} FOR EACH STATEMENT"
        op.execute(f"CREATE TRIGGER note_change {when} EXECUTE FUNCTION note_change()")


def downgrade() -> None:
    """Drop the triggers and the table."""
    if op.get_bind().dialect.name == "postgresql":
        for table in DECISIVE:
            op.execute(f"DROP TRIGGER note_change ON {table}")
        op.execute("DROP FUNCTION note_change()")
    op.drop_table("changing_transactions")
