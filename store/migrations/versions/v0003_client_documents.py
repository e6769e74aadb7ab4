"""Client documents: until when what was read from an app's own address is believed."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column."""
    with op.batch_alter_table("clients") as clients:
        clients.add_column(sa.Column("fresh_until", sa.DateTime(timezone=True)))


def downgrade() -> None:
    """Drop the column."""
    with op.batch_alter_table("clients") as clients:
        clients.drop_column("fresh_until")
