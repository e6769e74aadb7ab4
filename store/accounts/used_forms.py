"""Used forms: the tokens of forms that work once, as hashes, until they expire by themselves."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import NamedTuple

from sqlalchemy.ext.asyncio import AsyncConnection

from store.accounts.accounts import hash_secret, utc_now
from store.database import tables
from store.database.database import Database
from store.database.upserts import upsert
from store.errors import UsedFormError


class Form(NamedTuple):
    """A form that works once."""

    token: str
    expires_at: dt.datetime
    """When its page refuses it anyway. Its use must be remembered until then, and no longer."""


async def use_up(connection: AsyncConnection, form: Form) -> None:
    """Use up a form, in the transaction of what it does.

    Of simultaneous transactions, in any number of processes, one succeeds.

    Raises:
        UsedFormError: the form was used before.
    """
    row = {"form_hash": hash_secret(form.token), "expires_at": form.expires_at}
    insert = upsert(connection, tables.used_forms).values(row)
    used = await connection.execute(insert.on_conflict_do_nothing())
    if used.rowcount == 0:
        raise UsedFormError("This form was used already. Start again from the app.")


class UsedForms:
    """Forms that were used; each method is one transaction."""

    def __init__(self, database: Database, *, clock: Callable[[], dt.datetime] = utc_now) -> None:
        self._database = database
        self._clock = clock

    async def sweep(self) -> int:
        """Delete the forms that have expired; return how many were deleted."""
        expired = tables.used_forms.c.expires_at <= self._clock()
        async with self._database.write(patient=True) as connection:
            return (await connection.execute(tables.used_forms.delete().where(expired))).rowcount
