"""Grants: the accounts' approvals of clients, and these themselves.

A grant is one approval of one client by one account. Revoking a grant ends every code and token
that was issued under it. The codes and tokens themselves are in `store.accounts.tokens`.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from store.accounts.accounts import AccountRows, hash_secret, lock_account
from store.accounts.audit import OPERATOR, Actor, EventKind, add_event, check_pace
from store.accounts.clients import CLIENT, Client, client_of, make_room
from store.accounts.credentials import (
    LIFETIMES,
    CredentialKind,
    new_credential,
    new_grant_prefix,
    revoke,
)
from store.accounts.sessions import check_owner
from store.database import tables
from store.database.engines import upsert
from store.database.tables import columns_of
from store.errors import TooManyError, UnknownClientError, UsedFormError

MAX_GRANTS = 50
"""Live approvals an account may have."""

GRANTS_PER_HOUR = 30
"""Approvals an account may give within an hour."""


class ConsentForm(NamedTuple):
    """A form that works once."""

    token: str
    expires_at: dt.datetime
    """When its page refuses it anyway. Its use must be remembered until then, and no longer."""


@dataclass(frozen=True, slots=True)
class Grant:
    """One approval of a client by an account."""

    prefix: str
    """The id of the grant, used wherever a key would show its prefix."""
    name: str
    client_id: str
    account_id: int
    created_at: dt.datetime
    revoked_at: dt.datetime | None
    read_only: bool = False
    """Whether the app may only read: it cannot change what the account tracks."""


GRANT = columns_of(tables.grants, Grant)


class Grants(AccountRows):
    """Clients and grants."""

    async def add_client(
        self,
        client_id: str,
        name: str,
        redirect_uris: tuple[str, ...],
        *,
        auth_method: str = "none",
        secret: str | None = None,
        network: str = "",
    ) -> Client:
        """Store a new client. Only the hash of its secret is stored, if it has one.

        A network that adds too many loses its oldest ones that nobody has approved.
        """
        secret_hash = hash_secret(secret) if secret else None
        client = Client(client_id, name, auth_method, secret_hash, redirect_uris, self._clock())
        row = {name: getattr(client, name) for name in Client.__slots__}
        row |= {"redirect_uris": list(redirect_uris), "network": network}
        async with self._database.write() as connection:
            await connection.execute(tables.clients.insert().values(row))
            await make_room(connection, network)
        return client

    async def keep_document(
        self,
        client_id: str,
        name: str,
        redirect_uris: tuple[str, ...],
        fresh_until: dt.datetime,
        network: str = "",
    ) -> Client:
        """Store the current contents of a client document; the client's id is its address."""
        clients = tables.clients
        claims = {"name": name, "redirect_uris": list(redirect_uris), "fresh_until": fresh_until}
        new = {"client_id": client_id, "auth_method": "none", "created_at": self._clock()}
        async with self._database.write() as connection:
            stored = await connection.execute(
                upsert(connection, clients)
                .values(**new, **claims, network=network)
                .on_conflict_do_update(index_elements=[clients.c.client_id], set_=claims)
                .returning(*CLIENT)
            )
            client = client_of(stored.one())
            await make_room(connection, network)
        return client

    async def client(self, client_id: str) -> Client | None:
        """A client by its id."""
        query = sa.select(*CLIENT).where(tables.clients.c.client_id == client_id)
        rows = await self._database.rows(query)
        return client_of(rows[0]) if rows else None

    async def clients(self) -> list[Client]:
        """Every client, oldest first."""
        clients = tables.clients
        query = sa.select(*CLIENT).order_by(clients.c.created_at, clients.c.client_id)
        return [client_of(row) for row in await self._database.rows(query)]

    async def delete_client(self, client_id: str, *, actor: Actor = OPERATOR) -> bool:
        """Delete a client with all its grants; False if there is no such client."""
        clients, grants, now = tables.clients, tables.grants, self._clock()
        own = grants.c.client_id == client_id
        async with self._database.write() as connection:
            await revoke(connection, grants, own, actor, now)
            for table in (tables.codes, tables.tokens):
                issued = table.c.grant_id.in_(sa.select(grants.c.id).where(own))
                await connection.execute(table.delete().where(issued))
            await connection.execute(grants.delete().where(own))
            deleted = await connection.execute(
                clients.delete().where(clients.c.client_id == client_id)
            )
            if deleted.rowcount:
                await add_event(connection, EventKind.CLIENT_DELETED, actor, now, subject=client_id)
        return deleted.rowcount > 0

    async def approve(
        self,
        account_id: int,
        client_id: str,
        name: str,
        redirect_uri: str,
        code_challenge: str,
        *,
        form: ConsentForm,
        session: str | None = None,
        read_only: bool = False,
        actor: Actor = OPERATOR,
    ) -> str:
        """Record that an account approved a client; return the authorization code, shown only once.

        It is the only approval by this form of a consent page. The session whose token is given
        must be the account's.

        Raises:
            AccountError, UnknownClientError: account or client has been deleted meanwhile.
            SignedOutError: the session has ended, or was proven too long ago.
            TooManyError: the account has as many live approvals as it may.
            TooOftenError: it approved too often within the last hour.
            UsedFormError: the form was used before.
        """
        clients = tables.clients
        code = new_credential(CredentialKind.CODE)
        grant = {
            "prefix": new_grant_prefix(),
            "account_id": account_id,
            "client_id": client_id,
            "name": name,
            "read_only": read_only,
        }
        async with self._database.write() as connection:
            await self._check_consent(connection, account_id, form, session)
            now = self._clock()
            approved = await connection.execute(
                clients.update()
                .where(clients.c.client_id == client_id)
                .values(
                    approved_at=sa.func.coalesce(clients.c.approved_at, now),
                    used_at=now,
                    network="",  # an address is kept of nobody longer than it is needed
                )
            )
            if approved.rowcount == 0:
                raise UnknownClientError("This app is no longer registered.")
            inserted = await connection.execute(
                tables.grants.insert()
                .values({**grant, "created_at": now})
                .returning(tables.grants.c.id)
            )
            await connection.execute(
                tables.codes.insert().values(
                    code_hash=hash_secret(code),
                    grant_id=inserted.scalar_one(),
                    redirect_uri=redirect_uri,
                    code_challenge=code_challenge,
                    expires_at=now + LIFETIMES[CredentialKind.CODE],
                )
            )
            subject = f"{grant['prefix']} {name}"
            await add_event(connection, EventKind.APP_APPROVED, actor, now, account_id, subject)
        return code

    async def refuse(self, form: ConsentForm) -> None:
        """Use up the form of a consent page by which nothing is approved.

        Raises:
            UsedFormError: the form was used before.
        """
        async with self._database.write() as connection:
            await _use_up(connection, form)

    async def approves(self, account_id: int, client_id: str) -> bool:
        """Whether an account has approved a client, and not revoked that."""
        grants = tables.grants
        query = sa.select(grants.c.id).where(
            grants.c.account_id == account_id,
            grants.c.client_id == client_id,
            grants.c.revoked_at.is_(None),
        )
        return await self._database.scalar(query.limit(1)) is not None

    async def unrevoked(self, account_id: int, include: Collection[str] = ()) -> list[Grant]:
        """The grants of an account that were not revoked, or have one of the prefixes `include`,
        oldest first.
        """
        grants = tables.grants
        shown = grants.c.revoked_at.is_(None) | grants.c.prefix.in_(include)
        return await self._grants((grants.c.account_id == account_id) & shown)

    async def all_grants(self) -> list[Grant]:
        """Every grant, oldest first."""
        return await self._grants(sa.true())

    async def revoke_grant(self, account_id: int, prefix: str, *, actor: Actor = OPERATOR) -> bool:
        """Revoke a grant and everything it issued; False if the account has no such grant."""
        grants = tables.grants
        own = (grants.c.account_id == account_id) & (grants.c.prefix == prefix)
        async with self._database.write() as connection:
            if await revoke(connection, grants, own, actor, self._clock()):
                return True
            return await connection.scalar(sa.select(grants.c.id).where(own)) is not None

    async def _grants(self, condition: sa.ColumnElement[bool]) -> list[Grant]:
        query = sa.select(*GRANT).where(condition).order_by(tables.grants.c.id)
        return [Grant(*row) for row in await self._database.rows(query)]

    async def _check_consent(
        self, connection: AsyncConnection, account_id: int, form: ConsentForm, session: str | None
    ) -> None:
        """Use up a consent form, and refuse who may not approve, as `approve` says."""
        await lock_account(connection, account_id)
        if session is not None:
            await check_owner(connection, account_id, session, self._clock())
        await _use_up(connection, form)
        grants = tables.grants
        live = (grants.c.account_id == account_id) & grants.c.revoked_at.is_(None)
        count = sa.select(sa.func.count()).select_from(grants).where(live)
        if (await connection.scalar(count) or 0) >= MAX_GRANTS:
            raise TooManyError(f"An account connects at most {MAX_GRANTS} apps; revoke one first.")
        now = self._clock()
        await check_pace(connection, account_id, EventKind.APP_APPROVED, GRANTS_PER_HOUR, now)


async def _use_up(connection: AsyncConnection, form: ConsentForm) -> None:
    """Use up a form, in the transaction of what it does. Only its hash is stored.

    If several transactions try at once, in any number of processes, one succeeds.

    Raises:
        UsedFormError: the form was used before.
    """
    row = {"form_hash": hash_secret(form.token), "expires_at": form.expires_at}
    insert = upsert(connection, tables.used_forms).values(row)
    used = await connection.execute(insert.on_conflict_do_nothing())
    if used.rowcount == 0:
        raise UsedFormError("This form was used already. Start again from the app.")
