"""The Main watchlist of an account: its list of tracked tickers, in the user's order."""

from __future__ import annotations

from collections.abc import Collection, Sequence
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


class ChangedError(Exception):
    """The list is not the one that the change was decided on; nothing was changed."""


class OverCapError(Exception):
    """The list would hold `count` symbols, more than its cap; nothing was changed."""

    def __init__(self, count: int, cap: int) -> None:
        super().__init__(f"{count} symbols exceed the cap of {cap}")
        self.count = count
        self.cap = cap


class Watchlist:
    """Tracked tickers; each method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def symbols(self, account_id: int) -> list[str]:
        """The tracked symbols, in the user's order."""
        return [symbol for (symbol,) in await self._database.look_up(SYMBOLS, account_id)]

    async def replace(
        self,
        account_id: int,
        symbols: Sequence[str],
        cap: int,
        *,
        expected: Sequence[str] | None = None,
    ) -> Edited:
        """Replace the whole list by `symbols`, which must be distinct and upper case.

        Raises:
            ChangedError: the list is not the `expected` one; nothing was changed.
            OverCapError: there are more symbols than the cap; nothing was changed.
        """
        if len(symbols) > cap:
            raise OverCapError(len(symbols), cap)
        async with self._database.write() as connection:
            before = await _locked(connection, account_id, expected)
            await _write(connection, account_id, symbols)
        return Edited(before, list(symbols))

    async def edit(
        self,
        account_id: int,
        add: Sequence[str],
        remove: Collection[str],
        cap: int,
        *,
        expected: Sequence[str] | None = None,
    ) -> Edited:
        """Remove symbols, then append new ones. A list already over the cap may still shrink.

        Raises:
            ChangedError: the list is not the `expected` one; nothing was changed.
            OverCapError: an addition would exceed the cap; nothing was changed.
        """
        gone = frozenset(remove)
        async with self._database.write() as connection:
            before = await _locked(connection, account_id, expected)
            kept = [s for s in before if s not in gone]
            after = list(dict.fromkeys([*kept, *add]))
            if len(after) > max(cap, len(kept)):
                raise OverCapError(len(after), cap)
            await _write(connection, account_id, after)
        return Edited(before, after)

    async def fill(
        self,
        account_id: int,
        add: Sequence[str],
        cap: int,
        *,
        expected: Sequence[str] | None = None,
    ) -> Edited:
        """Append new symbols in their order, as many as the cap leaves room for.

        Raises:
            ChangedError: the list is not the `expected` one; nothing was changed.
        """
        async with self._database.write() as connection:
            before = await _locked(connection, account_id, expected)
            new = [symbol for symbol in dict.fromkeys(add) if symbol not in before]
            after = [*before, *new[: max(0, cap - len(before))]]
            await _write(connection, account_id, after)
        return Edited(before, after)

    async def move(self, account_id: int, symbol: str, steps: int) -> list[str]:
        """Move a symbol down the list, or up if `steps` is negative, at most to either end."""
        async with self._database.write() as connection:
            symbols = await _locked(connection, account_id)
            if symbol in symbols:
                place = symbols.index(symbol) + steps
                symbols.remove(symbol)
                symbols.insert(max(0, place), symbol)
                await _write(connection, account_id, symbols)
        return symbols


async def _locked(
    connection: AsyncConnection, account_id: int, expected: Sequence[str] | None = None
) -> list[str]:
    """The list, which nobody else changes until the transaction ends."""
    # Two simultaneous changes would both build on the same old list.
    try:
        await lock_account(connection, account_id)
    except AccountError as error:
        # The next call is told so: its credential is gone.
        raise DatabaseUnavailableError(str(error)) from error
    found = await connection.scalars(SYMBOLS.query, {"value": account_id})
    symbols: list[str] = list(found)
    if expected is not None and symbols != list(expected):
        raise ChangedError
    return symbols


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
