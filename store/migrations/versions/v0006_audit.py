"""The audit log, known browsers, used forms; what keys, grants, sessions and clients also say."""

from __future__ import annotations

import datetime as dt

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

COLUMNS = (
    ("keys", sa.Column("expires_at", sa.DateTime(timezone=True))),
    ("keys", sa.Column("read_only", sa.Boolean, nullable=False, server_default=sa.false())),
    ("grants", sa.Column("read_only", sa.Boolean, nullable=False, server_default=sa.false())),
    ("sessions", sa.Column("agent", sa.String(200), nullable=False, server_default="")),
    ("sessions", sa.Column("network", sa.String(45), nullable=False, server_default="")),
    ("sessions", sa.Column("proven_at", sa.DateTime(timezone=True))),
    ("clients", sa.Column("network", sa.String(45), nullable=False, server_default="")),
    ("clients", sa.Column("used_at", sa.DateTime(timezone=True))),
)
LASTING = "The audit log is only added to."


def upgrade() -> None:
    """Create the tables and the columns."""
    for table, column in COLUMNS:
        op.add_column(table, column)
    op.execute("UPDATE sessions SET proven_at = created_at")
    _count_use_from_now()
    op.create_index("ix_clients_network", "clients", ["network", "created_at"])
    op.create_table(
        "audit",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False, index=True),
        sa.Column("kind", sa.String(24), nullable=False),
        sa.Column("account_id", sa.Integer, index=True),
        sa.Column("actor", sa.String(16), nullable=False),
        sa.Column("network", sa.String(45), nullable=False),
        sa.Column("agent", sa.String(200), nullable=False),
        sa.Column("subject", sa.String(200), nullable=False),
    )
    op.create_index("ix_audit_pace", "audit", ["account_id", "kind", "at"])
    op.create_table(
        "browsers",
        sa.Column("token_hash", sa.String(64), primary_key=True),
        sa.Column(
            "account_id", sa.Integer, sa.ForeignKey("accounts.id"), nullable=False, index=True
        ),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_table(
        "used_forms",
        sa.Column("form_hash", sa.String(64), primary_key=True),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
    )
    if op.get_bind().dialect.name == "sqlite":
        then = f"BEGIN SELECT RAISE(ABORT, '{LASTING}'); END"
        op.execute(f"CREATE TRIGGER audit_lasts BEFORE UPDATE ON audit {then}")
    else:
        body = f"BEGIN RAISE EXCEPTION '{LASTING}'; END"
        op.execute(f"CREATE FUNCTION audit_lasts() RETURNS trigger LANGUAGE plpgsql AS $${body}$$")
        when = "BEFORE UPDATE ON audit FOR EACH ROW"
        op.execute(f"CREATE TRIGGER audit_lasts {when} EXECUTE FUNCTION audit_lasts()")


def _count_use_from_now() -> None:
    # Nothing says when an app last got tokens. It had some within the last 90 days if it has a
    # grant, so it counts as used now; if it has none, it got its last ones before that.
    clients = sa.table(
        "clients",
        *(sa.column(name, sa.DateTime(timezone=True)) for name in ("approved_at", "used_at")),
        sa.column("client_id", sa.String),
    )
    granted = clients.c.client_id.in_(
        sa.select(sa.column("client_id")).select_from(sa.table("grants"))
    )
    now = dt.datetime.now(dt.UTC)
    used_at = sa.case((granted, now), else_=now - dt.timedelta(days=90))
    op.execute(clients.update().where(clients.c.approved_at.is_not(None)).values(used_at=used_at))
