"""Changes: a count of changes to accounts, credentials and tracked symbols.

Only SQLite has the triggers that count, because only there is the count cheap enough to read on
every call.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

COUNTED = ("accounts", "keys", "grants", "tokens", "watchlist")


def upgrade() -> None:
    """Create the count and the triggers that increment it."""
    changes = op.create_table(
        "changes",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("count", sa.BigInteger, nullable=False),
    )
    op.bulk_insert(changes, [{"id": 1, "count": 0}])
    if op.get_bind().dialect.name != "sqlite":
        return
    for table in COUNTED:
        for event in ("insert", "update", "delete"):
            when = f"AFTER {event.upper()} ON {table}"
            then = "BEGIN UPDATE changes SET count = count + 1; END"
            op.execute(f"CREATE TRIGGER changes_{table}_{event} {when} {then}")


def downgrade() -> None:
    """Drop the triggers and the count."""
    if op.get_bind().dialect.name == "sqlite":
        for table in COUNTED:
            for event in ("insert", "update", "delete"):
                op.execute(f"DROP TRIGGER changes_{table}_{event}")
    op.drop_table("changes")
