"""Saved screens: what an account keeps under a name, and the hash of its feed's secret address."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Create the table. No trigger notes its changes: nothing that is cached depends on it."""
    op.create_table(
        "screens",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("account_id", sa.Integer, nullable=False),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("address", sa.Text, nullable=False),
        sa.Column("tracked_only", sa.Boolean, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("feed_hash", sa.String(64)),
        sa.Column("feed_at", sa.DateTime(timezone=True)),
        sa.PrimaryKeyConstraint("id", name="pk_screens"),
        sa.UniqueConstraint("feed_hash", name="uq_screens_feed_hash"),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name="fk_screens_account_id"),
    )
    op.create_index("ix_screens_account_id", "screens", ["account_id"])
