"""Pace: how often an account may do something within an hour, counted from the audit log.

The log is written in the transaction of what it records, so the count holds over restarts and over
all processes. What the operator does is not counted.
"""

from __future__ import annotations

import datetime as dt
import math

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from store.accounts.accounts import aware
from store.accounts.audit import Kind
from store.database import tables
from store.errors import TooOftenError

HOUR = dt.timedelta(hours=1)


async def check_pace(
    connection: AsyncConnection, account_id: int, kind: Kind, per_hour: int, now: dt.datetime
) -> None:
    """Refuse what an owner did `per_hour` times within the last hour.

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
        raise TooOftenError(math.ceil((aware(times[-1]) + HOUR - now).total_seconds()))
