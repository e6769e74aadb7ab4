"""An index for the last use of keys, and the seed of a used refresh token's successors."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the index and the column."""
    op.create_index("ix_usage_last_use", "usage", ["account_id", "key_prefix", "last_at"])
    op.add_column("tokens", sa.Column("seed", sa.String(43)))
