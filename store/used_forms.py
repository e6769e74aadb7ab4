"""Used forms: the tokens of forms that work once, as hashes, until they expire by themselves."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

from store import tables
from store.accounts import utc_now
from store.database import Database


class UsedForms:
    """Forms that were used; each method is one transaction."""

    def __init__(self, database: Database, *, clock: Callable[[], dt.datetime] = utc_now) -> None:
        self._database = database
        self._clock = clock

    async def sweep(self) -> int:
        """Delete the forms that have expired; return how many were deleted."""
        expired = tables.used_forms.c.expires_at <= self._clock()
        async with self._database.write() as connection:
            return (await connection.execute(tables.used_forms.delete().where(expired))).rowcount
