"""The audit log: who did what to which account, and when. `store.accounts.events` reads it.

An event is written in the transaction of what it records, so the log holds each change that was
acknowledged, and none that was not. It holds no secret. The database refuses to change a row; a
sweep removes the old ones.
"""

from __future__ import annotations

import datetime as dt
from enum import StrEnum
from typing import Literal, NamedTuple

from sqlalchemy.ext.asyncio import AsyncConnection

from store.database import tables

MAX_TEXT = 200
"""Most characters of a text that is kept of an event."""


class Kind(StrEnum):
    """What happened."""

    SIGN_IN = "sign_in"
    SIGN_IN_FAILED = "sign_in_failed"
    SIGN_OUT = "sign_out"
    SESSION_ENDED = "session_ended"
    PASSWORD_CHANGED = "password_changed"  # noqa: S105 - an event
    KEY_CREATED = "key_created"
    KEY_REVOKED = "key_revoked"
    APP_APPROVED = "app_approved"
    TOKENS_ISSUED = "tokens_issued"
    APP_REVOKED = "app_revoked"
    TOKEN_REUSED = "token_reused"  # noqa: S105 - an event
    ACCOUNT_ADDED = "account_added"
    ACCOUNT_DEACTIVATED = "account_deactivated"
    ACCOUNT_REACTIVATED = "account_reactivated"
    ACCOUNT_DELETED = "account_deleted"
    PLAN_CHANGED = "plan_changed"
    CLIENT_DELETED = "client_deleted"
    RESTORED = "restored"


class Actor(NamedTuple):
    """Who did it, and from where."""

    name: Literal["owner", "operator", "app", "stranger"]
    network: str = ""
    """The address that limits count by; empty at the command line."""
    agent: str = ""
    """The client's own name: a User-Agent."""


OPERATOR = Actor("operator")
"""Whoever may run `screener` on the machine itself."""


async def note(
    connection: AsyncConnection,
    kind: Kind,
    actor: Actor,
    at: dt.datetime,
    account_id: int | None = None,
    subject: str = "",
) -> None:
    """Add an event to the log, in the transaction of what it records.

    The subject names what was changed: a key's or an app's prefix and name, a plan.
    """
    await connection.execute(
        tables.audit.insert().values(
            at=at,
            kind=kind,
            account_id=account_id,
            actor=actor.name,
            network=actor.network,
            agent=actor.agent[:MAX_TEXT],
            subject=subject[:MAX_TEXT],
        )
    )
