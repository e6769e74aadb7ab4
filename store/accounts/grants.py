"""Clients and grants: the known apps, and the accounts' approvals of them.

A grant is one approval of one client by one account. Revoking a grant ends every code and token
that was issued under it. The codes and tokens themselves are in `store.accounts.tokens`.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from store.accounts.accounts import aware, hash_secret, utc_now
from store.accounts.audit import OPERATOR, Actor, Kind, note
from store.accounts.consent import check_consent
from store.accounts.credentials import LIFETIMES, new_credential, new_grant_prefix
from store.accounts.credentials import Kind as Credential
from store.accounts.lapsed import remove_clients, remove_grants
from store.accounts.unapproved import make_room
from store.accounts.used_forms import Form, use_up
from store.database import tables
from store.database.database import Database
from store.database.upserts import upsert
from store.errors import UnknownClientError


@dataclass(frozen=True, slots=True)
class Client:
    """An app that has registered or published a client document; its claims are not verified."""

    client_id: str
    name: str
    auth_method: str
    secret_hash: str | None
    """None for a public client."""
    redirect_uris: tuple[str, ...]
    created_at: dt.datetime
    approved_at: dt.datetime | None = None
    """When an account first approved it."""
    fresh_until: dt.datetime | None = None
    """Until when its client document may be used without fetching it again; None if registered."""


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


@dataclass(frozen=True, slots=True)
class Swept:
    """How many rows of each kind a sweep removed."""

    grants: int
    clients: int


class Grants:
    """Clients and grants; each method is one transaction."""

    def __init__(
        self,
        database: Database,
        *,
        clock: Callable[[], dt.datetime] = utc_now,
        new_credential: Callable[[Credential], str] = new_credential,
    ) -> None:
        self._database = database
        self._clock = clock
        self._new_credential = new_credential

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
        said = {"name": name, "redirect_uris": list(redirect_uris), "fresh_until": fresh_until}
        new = {"client_id": client_id, "auth_method": "none", "created_at": self._clock()}
        new["network"] = network
        async with self._database.write() as connection:
            kept = await connection.execute(
                upsert(connection, clients)
                .values(**new, **said)
                .on_conflict_do_update(index_elements=[clients.c.client_id], set_=said)
                .returning(*clients.c)
            )
            client = _to_client(kept.one())
            await make_room(connection, network)
        return client

    async def client(self, client_id: str) -> Client | None:
        """A client by its id."""
        query = sa.select(tables.clients).where(tables.clients.c.client_id == client_id)
        async with self._database.read() as connection:
            row = (await connection.execute(query)).one_or_none()
        return _to_client(row) if row else None

    async def clients(self) -> list[Client]:
        """Every client, oldest first."""
        clients = tables.clients
        query = sa.select(clients).order_by(clients.c.created_at, clients.c.client_id)
        async with self._database.read() as connection:
            return [_to_client(row) for row in await connection.execute(query)]

    async def delete_client(self, client_id: str, *, actor: Actor = OPERATOR) -> bool:
        """Delete a client with all its grants; False if there is no such client."""
        clients, grants, at = tables.clients, tables.grants, self._clock()
        ids = sa.select(grants.c.id).where(grants.c.client_id == client_id)
        async with self._database.write() as connection:
            for table in (tables.codes, tables.tokens):
                await connection.execute(table.delete().where(table.c.grant_id.in_(ids)))
            lost = await connection.execute(
                grants.delete()
                .where(grants.c.client_id == client_id)
                .returning(grants.c.account_id, grants.c.prefix, grants.c.name, grants.c.revoked_at)
            )
            for grant in lost:
                if grant.revoked_at is None:
                    subject = f"{grant.prefix} {grant.name}"
                    await note(connection, Kind.APP_REVOKED, actor, at, grant.account_id, subject)
            deleted = await connection.execute(
                clients.delete().where(clients.c.client_id == client_id)
            )
            if deleted.rowcount:
                await note(connection, Kind.CLIENT_DELETED, actor, at, subject=client_id)
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
        code = self._new_credential(Credential.CODE)
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
                    expires_at=now + LIFETIMES[Credential.CODE],
                )
            )
            subject = f"{grant['prefix']} {name}"
            await note(connection, Kind.APP_APPROVED, actor, now, account_id, subject)
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

    async def held(self, account_id: int, besides: Collection[str] = ()) -> list[Grant]:
        """The grants of an account that were not revoked, or have one of the prefixes `besides`,
        oldest first.
        """
        grants = tables.grants
        shown = grants.c.revoked_at.is_(None) | grants.c.prefix.in_(besides)
        return await self._grants((grants.c.account_id == account_id) & shown)

    async def all_grants(self) -> list[Grant]:
        """Every grant, oldest first."""
        return await self._grants(sa.true())

    async def revoke_grant(self, account_id: int, prefix: str, *, actor: Actor = OPERATOR) -> bool:
        """Revoke a grant and everything it issued; False if the account has no such grant."""
        grants, now = tables.grants, self._clock()
        held = (grants.c.account_id == account_id) & (grants.c.prefix == prefix)
        async with self._database.write() as connection:
            revoked = await connection.execute(
                grants.update()
                .where(held, grants.c.revoked_at.is_(None))
                .values(revoked_at=now)
                .returning(grants.c.name)
            )
            name = revoked.scalar_one_or_none()
            if name is None:
                return await connection.scalar(sa.select(grants.c.id).where(held)) is not None
            subject = f"{prefix} {name}"
            await note(connection, Kind.APP_REVOKED, actor, now, account_id, subject)
        return True

    async def sweep(self) -> Swept:
        """Delete the grants that have lapsed, and then the clients that nobody needs."""
        now = self._clock()
        async with self._database.write(patient=True) as connection:
            return Swept(
                await remove_grants(connection, now), await remove_clients(connection, now)
            )

    async def _grants(self, condition: sa.ColumnElement[bool]) -> list[Grant]:
        query = sa.select(tables.grants).where(condition).order_by(tables.grants.c.id)
        async with self._database.read() as connection:
            return [_to_grant(row) for row in await connection.execute(query)]


def _to_client(row: sa.Row[*tuple[Any, ...]]) -> Client:
    return Client(
        row.client_id,
        row.name,
        row.auth_method,
        row.secret_hash,
        tuple(row.redirect_uris),
        aware(row.created_at),
        aware(row.approved_at) if row.approved_at else None,
        aware(row.fresh_until) if row.fresh_until else None,
    )


def _to_grant(row: sa.Row[*tuple[Any, ...]]) -> Grant:
    return Grant(
        row.prefix,
        row.name,
        row.client_id,
        row.account_id,
        aware(row.created_at),
        aware(row.revoked_at) if row.revoked_at else None,
        row.read_only,
    )
