"""Changing transactions: until 0008 those of PostgreSQL that change who may call."""

from __future__ import annotations

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Nothing any more."""
