"""Consent: what an approval of an app takes besides a person: a form that was not used before, room
for one more app, and a pace that a person can have.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from store.accounts.accounts import lock_account
from store.accounts.audit import Kind
from store.accounts.owner import check_owner
from store.accounts.pace import check_pace
from store.accounts.used_forms import Form, use_up
from store.database import tables
from store.errors import TooManyError

GRANT_CAP = 50
"""Live approvals an account may have."""

GRANTS_PER_HOUR = 30
"""Approvals an account may give within an hour."""


async def check_consent(
    connection: AsyncConnection,
    account_id: int,
    form: Form,
    clock: Callable[[], dt.datetime],
    session: str | None = None,
) -> None:
    """Use up a consent form, in the transaction of the approval.

    With the token of a session, that session must be the account's.

    Raises:
        AccountError: the account has been deleted meanwhile.
        SignedOutError: the session has ended, or was proven too long ago.
        TooManyError: the account has as many live approvals as it may.
        TooOftenError: it approved too often within the last hour.
        UsedFormError: the form was used before.
    """
    await lock_account(connection, account_id)
    if session is not None:
        await check_owner(connection, account_id, session, clock())
    await use_up(connection, form)
    grants = tables.grants
    live = (grants.c.account_id == account_id) & grants.c.revoked_at.is_(None)
    count = sa.select(sa.func.count()).select_from(grants).where(live)
    if (await connection.scalar(count) or 0) >= GRANT_CAP:
        raise TooManyError(f"An account connects at most {GRANT_CAP} apps; revoke one first.")
    await check_pace(connection, account_id, Kind.APP_APPROVED, GRANTS_PER_HOUR, clock())
