"""The Main watchlist of an account: its list of tracked tickers, in the user's order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from store.accounts.accounts import lock_account
from store.database import tables
from store.database.database import VALUE, Database, LookUp
from store.errors import AccountError, DatabaseUnavailableError

SYMBOLS = LookUp(
    sa.select(tables.watchlist.c.symbol)
    .where(tables.watchlist.c.account_id == VALUE)
    .order_by(tables.watchlist.c.position)
)


class Edited(NamedTuple):
    """A tracked list before and after a change."""

    before: list[str]
    after: list[str]

    @property
    def added(self) -> list[str]:
        """What is new, in the order of the list."""
        return [symbol for symbol in self.after if symbol not in self.before]

    @property
    def removed(self) -> list[str]:
        """What is gone, in the order that it had."""
        return [symbol for symbol in self.before if symbol not in self.after]


Change = Callable[[Sequence[str]], Sequence[str]]
"""What a change makes of a list; the symbols are distinct and upper case. It raises what refuses
it.
"""


class Watchlist:
    """Tracked tickers; each method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def symbols(self, account_id: int) -> list[str]:
        """The tracked symbols, in the user's order."""
        return [symbol for (symbol,) in await self._database.look_up(SYMBOLS, account_id)]

    async def change(self, account_id: int, change: Change) -> Edited:
        """Change the list; nobody else changes it between what `change` is given and what it makes
        of that. What `change` raises leaves the list as it is.
        """
        async with self._database.write() as connection:
            try:
                await lock_account(connection, account_id)
            except AccountError as error:
                # The next call is told so: its credential is gone.
                raise DatabaseUnavailableError(str(error)) from error
            before = list(await connection.scalars(SYMBOLS.query, {"value": account_id}))
            after = list(change(before))
            if after != before:
                await _write(connection, account_id, after)
        return Edited(before, after)


async def _write(connection: AsyncConnection, account_id: int, symbols: Sequence[str]) -> None:
    await connection.execute(
        tables.watchlist.delete().where(tables.watchlist.c.account_id == account_id)
    )
    if symbols:
        await connection.execute(
            tables.watchlist.insert(),
            [
                {"account_id": account_id, "symbol": symbol, "position": position}
                for position, symbol in enumerate(symbols)
            ],
        )
