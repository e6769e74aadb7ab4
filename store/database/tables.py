"""The tables of the account database. Secrets are stored only as hashes; every time is UTC."""

from __future__ import annotations

import datetime as dt
from dataclasses import fields
from typing import Any

import sqlalchemy as sa


class UtcDateTime(sa.TypeDecorator[dt.datetime]):
    """An aware time in UTC. SQLite keeps no time zone, and every stored time is UTC."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_result_value(
        self,
        value: dt.datetime | None,
        dialect: sa.Dialect,  # noqa: ARG002 - as SQLAlchemy calls it
    ) -> dt.datetime | None:
        """The stored time with its zone."""
        return value if value is None or value.tzinfo else value.replace(tzinfo=dt.UTC)


metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

accounts = sa.Table(
    "accounts",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("email", sa.String(254), nullable=False, unique=True),
    sa.Column("plan", sa.String(16), nullable=False),
    sa.Column("active", sa.Boolean, nullable=False),
    sa.Column("password_hash", sa.String(255)),
    sa.Column("created_at", UtcDateTime, nullable=False),
)

keys = sa.Table(
    "keys",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("account_id", sa.Integer, sa.ForeignKey("accounts.id"), nullable=False, index=True),
    sa.Column("prefix", sa.String(16), nullable=False, unique=True),
    sa.Column("secret_hash", sa.String(64), nullable=False, unique=True),
    sa.Column("name", sa.String(100), nullable=False),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.Column("revoked_at", UtcDateTime),
    sa.Column("expires_at", UtcDateTime),
    sa.Column("read_only", sa.Boolean, nullable=False, server_default=sa.false()),
)

watchlist = sa.Table(
    "watchlist",
    metadata,
    sa.Column("account_id", sa.Integer, sa.ForeignKey("accounts.id"), primary_key=True),
    sa.Column("symbol", sa.String(24), primary_key=True),
    sa.Column("position", sa.Integer, nullable=False),
)

screens = sa.Table(
    "screens",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("account_id", sa.Integer, sa.ForeignKey("accounts.id"), nullable=False, index=True),
    sa.Column("name", sa.String(100), nullable=False),
    sa.Column("query", sa.Text, nullable=False),
    sa.Column("tracked_only", sa.Boolean, nullable=False),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.Column("feed_hash", sa.String(64), unique=True),
    sa.Column("feed_at", UtcDateTime),
)

usage = sa.Table(
    "usage",
    metadata,
    sa.Column("account_id", sa.Integer, sa.ForeignKey("accounts.id"), primary_key=True),
    sa.Column("day", sa.Date, primary_key=True),
    sa.Column("key_prefix", sa.String(16), primary_key=True),
    sa.Column("operation", sa.String(40), primary_key=True),
    sa.Column("client", sa.String(200), primary_key=True),
    sa.Column("host", sa.String(200), primary_key=True),
    sa.Column("calls", sa.Integer, nullable=False),
    sa.Column("last_at", UtcDateTime, nullable=False),
    sa.Index("ix_usage_last_use", "account_id", "key_prefix", "last_at"),
)

sessions = sa.Table(
    "sessions",
    metadata,
    sa.Column("token_hash", sa.String(64), primary_key=True),
    sa.Column("account_id", sa.Integer, sa.ForeignKey("accounts.id"), nullable=False, index=True),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.Column("seen_at", UtcDateTime, nullable=False),
    sa.Column("agent", sa.String(200), nullable=False, server_default=""),
    sa.Column("network", sa.String(45), nullable=False, server_default=""),
    sa.Column("proven_at", UtcDateTime),
)

browsers = sa.Table(
    "browsers",
    metadata,
    sa.Column("token_hash", sa.String(64), primary_key=True),
    sa.Column("account_id", sa.Integer, sa.ForeignKey("accounts.id"), nullable=False, index=True),
    sa.Column("seen_at", UtcDateTime, nullable=False),
)

used_forms = sa.Table(
    "used_forms",
    metadata,
    sa.Column("form_hash", sa.String(64), primary_key=True),
    sa.Column("expires_at", UtcDateTime, nullable=False),
)

clients = sa.Table(
    "clients",
    metadata,
    sa.Column("client_id", sa.String(300), primary_key=True),
    sa.Column("secret_hash", sa.String(64)),
    sa.Column("auth_method", sa.String(32), nullable=False),
    sa.Column("name", sa.String(200), nullable=False),
    sa.Column("redirect_uris", sa.JSON, nullable=False),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.Column("approved_at", UtcDateTime),
    sa.Column("fresh_until", UtcDateTime),
    sa.Column("network", sa.String(45), nullable=False, server_default=""),
    sa.Column("used_at", UtcDateTime),
    sa.Index("ix_clients_network", "network", "created_at"),
)

grants = sa.Table(
    "grants",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("prefix", sa.String(16), nullable=False, unique=True),
    sa.Column("account_id", sa.Integer, sa.ForeignKey("accounts.id"), nullable=False, index=True),
    sa.Column(
        "client_id", sa.String(300), sa.ForeignKey("clients.client_id"), nullable=False, index=True
    ),
    sa.Column("name", sa.String(200), nullable=False),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.Column("revoked_at", UtcDateTime),
    sa.Column("read_only", sa.Boolean, nullable=False, server_default=sa.false()),
)

codes = sa.Table(
    "codes",
    metadata,
    sa.Column("code_hash", sa.String(64), primary_key=True),
    sa.Column("grant_id", sa.Integer, sa.ForeignKey("grants.id"), nullable=False, index=True),
    sa.Column("redirect_uri", sa.Text, nullable=False),
    sa.Column("code_challenge", sa.String(128), nullable=False),
    sa.Column("expires_at", UtcDateTime, nullable=False),
    sa.Column("consumed_at", UtcDateTime),
)

tokens = sa.Table(
    "tokens",
    metadata,
    sa.Column("token_hash", sa.String(64), primary_key=True),
    sa.Column("grant_id", sa.Integer, sa.ForeignKey("grants.id"), nullable=False, index=True),
    sa.Column("kind", sa.String(8), nullable=False),
    sa.Column("expires_at", UtcDateTime, nullable=False),
    sa.Column("consumed_at", UtcDateTime),
    sa.Column("seed", sa.String(43)),
)

changes = sa.Table(
    "changes",
    metadata,
    sa.Column("account_id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False, index=True),
    sa.Column("at", UtcDateTime, nullable=False, server_default=sa.func.now()),
    info={"own": True},
)
"""Which accounts have changed in a table that decides who may call and what is answered; 0 is all.
Triggers write it: SQLite's keep the last change of each account, PostgreSQL's all of an hour.
"""

audit = sa.Table(
    "audit",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("at", UtcDateTime, nullable=False, index=True),
    sa.Column("kind", sa.String(24), nullable=False),
    sa.Column("account_id", sa.Integer, index=True),
    sa.Column("actor", sa.String(16), nullable=False),
    sa.Column("network", sa.String(45), nullable=False),
    sa.Column("agent", sa.String(200), nullable=False),
    sa.Column("subject", sa.String(200), nullable=False),
    sa.Index("ix_audit_pace", "account_id", "kind", "at"),
)

OWN = frozenset(name for name, table in metadata.tables.items() if table.info.get("own"))
"""Tables that tell of their database alone: neither kept in a backup, nor copied, nor closed."""


def columns_of(table: sa.Table, record: type[Any]) -> list[sa.Column[Any]]:
    """The columns of a table that are the fields of a dataclass, in their order."""
    return [table.c[field.name] for field in fields(record)]
