"""Consent: what it takes that an owner makes a key or approves an app.

That is a session which is still there, a pace that a person can have, and for an app a form that
was not used before and room for one more.
"""

from __future__ import annotations

import datetime as dt
import math
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from store.accounts.accounts import Clock, hash_secret, lock_account
from store.accounts.audit import EventKind
from store.accounts.sessions import proven
from store.database import tables
from store.database.engines import upsert
from store.errors import SignedOutError, TooManyError, TooOftenError, UsedFormError

GRANT_CAP = 50
"""Live approvals an account may have."""

GRANTS_PER_HOUR = 30
"""Approvals an account may give within an hour."""

HOUR = dt.timedelta(hours=1)


class Form(NamedTuple):
    """A form that works once."""

    token: str
    expires_at: dt.datetime
    """When its page refuses it anyway. Its use must be remembered until then, and no longer."""


async def check_consent(
    connection: AsyncConnection,
    account_id: int,
    form: Form,
    clock: Clock,
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
    await check_pace(connection, account_id, EventKind.APP_APPROVED, GRANTS_PER_HOUR, clock())


async def check_owner(
    connection: AsyncConnection, account_id: int, token: str, now: dt.datetime
) -> None:
    """Refuse what a session does that has ended, or in which no password was given for long.

    Lock the account first: whoever ends all access holds the same lock, so that a session makes
    nothing that outlives its end.

    Raises:
        SignedOutError: the account has no such session, or not with a password in time.
    """
    sessions = tables.sessions
    own = sa.select(sessions.c.account_id).where(sessions.c.account_id == account_id)
    if await connection.scalar(own.where(proven(token, now))) is None:
        raise SignedOutError


async def check_pace(
    connection: AsyncConnection, account_id: int, kind: EventKind, per_hour: int, now: dt.datetime
) -> None:
    """Refuse what an owner did `per_hour` times within the last hour, by the audit log. That is
    written in the transaction of what it records, so the count holds over restarts and over all
    processes. What the operator does is not counted.

    Lock the account first, and take the time then, so that simultaneous transactions count one
    after another. What a clock that was wrong dated to the future does not count.

    Raises:
        TooOftenError: with the wait until the oldest of these events is an hour old.
    """
    audit = tables.audit
    query = (
        sa.select(audit.c.at)
        .where(audit.c.account_id == account_id, audit.c.kind == kind, audit.c.actor == "owner")
        .where(audit.c.at > now - HOUR, audit.c.at <= now)
        .order_by(audit.c.at.desc())
        .limit(per_hour)
    )
    times = list((await connection.execute(query)).scalars())
    if len(times) >= per_hour:
        raise TooOftenError(math.ceil((times[-1] + HOUR - now).total_seconds()))


async def use_up(connection: AsyncConnection, form: Form) -> None:
    """Use up a form, in the transaction of what it does. Only its hash is stored.

    Of simultaneous transactions, in any number of processes, one succeeds.

    Raises:
        UsedFormError: the form was used before.
    """
    row = {"form_hash": hash_secret(form.token), "expires_at": form.expires_at}
    insert = upsert(connection, tables.used_forms).values(row)
    used = await connection.execute(insert.on_conflict_do_nothing())
    if used.rowcount == 0:
        raise UsedFormError("This form was used already. Start again from the app.")
