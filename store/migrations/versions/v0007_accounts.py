"""Accounts, their credentials and what they track; sign-in of people and of agent hosts; the audit
log. What came before was one schema after the other up to this, the oldest that still migrates.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = None
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)
LASTING = "The audit log is only added to."


def upgrade() -> None:
    """Create the tables, and let nobody change what the audit log holds."""
    _create_accounts()
    _create_sign_in()
    _create_apps()
    _create_audit()


def _text(name: str, length: int, **options: Any) -> sa.Column[str]:  # noqa: ANN401 - SQLAlchemy's
    return sa.Column(name, sa.String(length), nullable=False, **options)


def _time(name: str) -> sa.Column[Any]:
    return sa.Column(name, TIME, nullable=False)


def _account(**options: Any) -> sa.Column[int]:  # noqa: ANN401 - SQLAlchemy's
    account = sa.ForeignKey("accounts.id")
    return sa.Column("account_id", sa.Integer, account, nullable=False, **options)


def _grant() -> sa.Column[int]:
    grant = sa.ForeignKey("grants.id")
    return sa.Column("grant_id", sa.Integer, grant, nullable=False, index=True)


def _read_only() -> sa.Column[bool]:
    return sa.Column("read_only", sa.Boolean, nullable=False, server_default=sa.false())


def _create_accounts() -> None:
    op.create_table(
        "accounts",
        sa.Column("id", sa.Integer, primary_key=True),
        _text("email", 254, unique=True),
        _text("plan", 16),
        sa.Column("active", sa.Boolean, nullable=False),
        sa.Column("password_hash", sa.String(255)),
        _time("created_at"),
    )
    op.create_table(
        "keys",
        sa.Column("id", sa.Integer, primary_key=True),
        _account(index=True),
        _text("prefix", 16, unique=True),
        _text("secret_hash", 64, unique=True),
        _text("name", 100),
        _time("created_at"),
        sa.Column("revoked_at", TIME),
        sa.Column("expires_at", TIME),
        _read_only(),
    )
    op.create_table(
        "watchlist",
        _account(primary_key=True),
        _text("symbol", 24, primary_key=True),
        sa.Column("position", sa.Integer, nullable=False),
    )
    op.create_table(
        "usage",
        _account(primary_key=True),
        sa.Column("day", sa.Date, primary_key=True),
        _text("key_prefix", 16, primary_key=True),
        _text("operation", 40, primary_key=True),
        _text("client", 200, primary_key=True),
        _text("host", 200, primary_key=True),
        sa.Column("calls", sa.Integer, nullable=False),
        _time("last_at"),
        sa.Index("ix_usage_last_use", "account_id", "key_prefix", "last_at"),
    )


def _create_sign_in() -> None:
    op.create_table(
        "sessions",
        _text("token_hash", 64, primary_key=True),
        _account(index=True),
        _time("created_at"),
        _time("seen_at"),
        _text("agent", 200, server_default=""),
        _text("network", 45, server_default=""),
        sa.Column("proven_at", TIME),
    )
    op.create_table(
        "browsers",
        _text("token_hash", 64, primary_key=True),
        _account(index=True),
        _time("seen_at"),
    )
    op.create_table("used_forms", _text("form_hash", 64, primary_key=True), _time("expires_at"))


def _create_apps() -> None:
    op.create_table(
        "clients",
        _text("client_id", 300, primary_key=True),
        sa.Column("secret_hash", sa.String(64)),
        _text("auth_method", 32),
        _text("name", 200),
        sa.Column("redirect_uris", sa.JSON, nullable=False),
        _time("created_at"),
        sa.Column("approved_at", TIME),
        sa.Column("fresh_until", TIME),
        _text("network", 45, server_default=""),
        sa.Column("used_at", TIME),
        sa.Index("ix_clients_network", "network", "created_at"),
    )
    client = sa.ForeignKey("clients.client_id")
    op.create_table(
        "grants",
        sa.Column("id", sa.Integer, primary_key=True),
        _text("prefix", 16, unique=True),
        _account(index=True),
        sa.Column("client_id", sa.String(300), client, nullable=False, index=True),
        _text("name", 200),
        _time("created_at"),
        sa.Column("revoked_at", TIME),
        _read_only(),
    )
    op.create_table(
        "codes",
        _text("code_hash", 64, primary_key=True),
        _grant(),
        sa.Column("redirect_uri", sa.Text, nullable=False),
        _text("code_challenge", 128),
        _time("expires_at"),
        sa.Column("consumed_at", TIME),
    )
    op.create_table(
        "tokens",
        _text("token_hash", 64, primary_key=True),
        _grant(),
        _text("kind", 8),
        _time("expires_at"),
        sa.Column("consumed_at", TIME),
        sa.Column("seed", sa.String(43)),
    )


def _create_audit() -> None:
    op.create_table(
        "audit",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("at", TIME, nullable=False, index=True),
        _text("kind", 24),
        sa.Column("account_id", sa.Integer, index=True),
        _text("actor", 16),
        _text("network", 45),
        _text("agent", 200),
        _text("subject", 200),
        sa.Index("ix_audit_pace", "account_id", "kind", "at"),
    )
    if op.get_bind().dialect.name == "sqlite":
        then = f"BEGIN SELECT RAISE(ABORT, '{LASTING}'); END"
        op.execute(f"CREATE TRIGGER audit_lasts BEFORE UPDATE ON audit {then}")
    else:
        body = f"BEGIN RAISE EXCEPTION '{LASTING}'; END"
        op.execute(f"CREATE FUNCTION audit_lasts() RETURNS trigger LANGUAGE plpgsql AS $${body}$$")
        when = "BEFORE UPDATE ON audit FOR EACH ROW"
        op.execute(f"CREATE TRIGGER audit_lasts {when} EXECUTE FUNCTION audit_lasts()")
