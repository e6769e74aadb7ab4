"""Client documents: until when a document fetched from an app's own address stays fresh."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column."""
    op.add_column("clients", sa.Column("fresh_until", sa.DateTime(timezone=True)))
