"""Grants: the accounts' approvals of clients, and these themselves.

A grant is one approval of one client by one account. Revoking a grant ends every code and token
that was issued under it. The codes and tokens themselves are in `store.accounts.tokens`.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection
from dataclasses import dataclass

import sqlalchemy as sa

from store.accounts.accounts import Clock, hash_secret, utc_now
from store.accounts.audit import OPERATOR, Actor, EventKind, note
from store.accounts.clients import CLIENT, Client, client_of, make_room
from store.accounts.consent import Form, check_consent, use_up
from store.accounts.credentials import LIFETIMES, Kind, new_credential, new_grant_prefix, revoke
from store.database import tables
from store.database.database import Database
from store.database.engines import upsert
from store.database.tables import columns_of
from store.errors import UnknownClientError


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


class Grants:
    """Clients and grants; each method is one transaction."""

    def __init__(self, database: Database, *, clock: Clock = utc_now) -> None:
        self._database = database
        self._clock = clock

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
        """Store a new client. Of its secret, if it has one, only the hash is stored.

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
            client = client_of(stored.mappings().one())
            await make_room(connection, network)
        return client

    async def client(self, client_id: str) -> Client | None:
        """A client by its id."""
        query = sa.select(*CLIENT).where(tables.clients.c.client_id == client_id)
        async with self._database.read() as connection:
            row = (await connection.execute(query)).mappings().one_or_none()
        return client_of(row) if row else None

    async def clients(self) -> list[Client]:
        """Every client, oldest first."""
        clients = tables.clients
        query = sa.select(*CLIENT).order_by(clients.c.created_at, clients.c.client_id)
        async with self._database.read() as connection:
            return [client_of(row) for row in (await connection.execute(query)).mappings()]

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
                await note(connection, EventKind.CLIENT_DELETED, actor, now, subject=client_id)
        return deleted.rowcount > 0

    async def approve(
        self,
        account_id: int,
        client_id: str,
        name: str,
        redirect_uri: str,
        code_challenge: str,
        *,
        form: Form | None = None,
        session: str | None = None,
        read_only: bool = False,
        actor: Actor = OPERATOR,
    ) -> str:
        """Record that an account approved a client; return the authorization code, shown only once.

        With the form of a consent page, it is the only approval by that form, and the session
        whose token is given must be the account's.

        Raises:
            AccountError, UnknownClientError: account or client has been deleted meanwhile.
            SignedOutError, TooManyError, TooOftenError, UsedFormError: as `check_consent` says.
        """
        clients = tables.clients
        code = new_credential(Kind.CODE)
        grant = {
            "prefix": new_grant_prefix(),
            "account_id": account_id,
            "client_id": client_id,
            "name": name,
            "read_only": read_only,
        }
        async with self._database.write() as connection:
            if form is not None:
                await check_consent(connection, account_id, form, self._clock, session)
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
                    expires_at=now + LIFETIMES[Kind.CODE],
                )
            )
            subject = f"{grant['prefix']} {name}"
            await note(connection, EventKind.APP_APPROVED, actor, now, account_id, subject)
        return code

    async def refuse(self, form: Form) -> None:
        """Use up the form of a consent page by which nothing is approved.

        Raises:
            UsedFormError: the form was used before.
        """
        async with self._database.write() as connection:
            await use_up(connection, form)

    async def approves(self, account_id: int, client_id: str) -> bool:
        """Whether an account has approved a client, and not revoked that."""
        grants = tables.grants
        query = sa.select(grants.c.id).where(
            grants.c.account_id == account_id,
            grants.c.client_id == client_id,
            grants.c.revoked_at.is_(None),
        )
        async with self._database.read() as connection:
            return await connection.scalar(query.limit(1)) is not None

    async def of_account(self, account_id: int) -> list[Grant]:
        """The grants of an account, including revoked ones, oldest first."""
        return await self._grants(tables.grants.c.account_id == account_id)

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
        async with self._database.read() as connection:
            return [Grant(*row) for row in await connection.execute(query)]
