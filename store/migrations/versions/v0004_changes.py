"""Changes: until 0008 a count of changes, which that replaces."""

from __future__ import annotations

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Nothing any more."""
