"""Codes and tokens of grants: consumed once, rotated, looked up. Only their SHA-256 is stored.

One SQL statement both checks that a credential is unused and marks it as used. If any
number of requests try at once, in any number of processes, exactly one succeeds.
"""

from __future__ import annotations

import datetime as dt
import logging
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from store.accounts.accounts import ACCOUNT, AccountRows, Clock, hash_secret, utc_now
from store.accounts.audit import HOUR, Actor, EventKind, add_event
from store.accounts.credentials import (
    LIFETIMES,
    CredentialKind,
    new_credential,
    new_seed,
    revoke,
    successor,
)
from store.accounts.keys import Principal, principal_of
from store.accounts.surplus import keep_newest
from store.database import tables
from store.database.database import VALUE, Database, LookUp
from store.errors import TooOftenError

REFRESHES_AN_HOUR = 60
"""Refreshes of one grant; a host needs one a week, or one at each of its starts."""
REMEMBERED = 1_000
"""Used refresh tokens of a grant that are remembered, so that showing one again is noticed."""

HOLDER = LookUp(
    sa.select(
        *ACCOUNT,
        *(tables.grants.c[name] for name in ("prefix", "name", "created_at", "revoked_at")),
        sa.null(),  # a grant has no end
        tables.grants.c.read_only,
        tables.tokens.c.expires_at,
    )
    .join(tables.grants, tables.grants.c.account_id == tables.accounts.c.id)
    .join(tables.tokens, tables.tokens.c.grant_id == tables.grants.c.id)
    .where(tables.tokens.c.token_hash == VALUE, tables.tokens.c.kind == CredentialKind.ACCESS)
)
"""The holder of an access token, active or not, as `principal_of` reads it."""

log = logging.getLogger(__name__)

APP = Actor("app")


@dataclass(frozen=True, slots=True)
class TokenPair:
    """An access token and a refresh token, as secrets that are shown only once."""

    access: str
    refresh: str


class Tokens(AccountRows):
    """Codes, access tokens and refresh tokens."""

    def __init__(
        self,
        database: Database,
        *,
        clock: Clock = utc_now,
        leeway: dt.timedelta = dt.timedelta(0),
    ) -> None:
        super().__init__(database, clock=clock)
        self._leeway = leeway

    async def redeem(
        self,
        code: str,
        client_id: str,
        code_challenge: str,
        redirect_uri: str | None,
        *,
        actor: Actor = APP,
    ) -> TokenPair | None:
        """Exchange a code; None if it is another client's, not live, or challenge or URI differ.

        A client that presents its used code again loses the grant (RFC 6749 section 4.1.2).
        """
        codes, now = tables.codes, self._clock()
        presented = codes.c.code_hash == hash_secret(code)
        usable = [presented, codes.c.code_challenge == code_challenge]
        if redirect_uri is not None:
            usable.append(codes.c.redirect_uri == redirect_uri)
        if not await self._holds(codes, presented, client_id):
            return None
        async with self._database.write() as connection:
            grant_id = await _consume(connection, codes, usable, client_id, now)
            if grant_id is not None:
                await _note_issue(connection, grant_id, actor, now)
                return await _issue(connection, grant_id, client_id, _new_pair(), now)
            await _revoke_if_used(connection, codes, presented, client_id, now, actor)
        return None

    async def rotate(
        self, refresh_token: str, client_id: str, *, actor: Actor = APP
    ) -> TokenPair | None:
        """Exchange a refresh token; None if it is another client's or not live.

        A client that presents its used token again loses the grant (RFC 9700 section 4.14.2).
        Within the leeway, however, the last used token returns the same pair again while that pair
        is unused, so a client whose connection broke need not sign in again.

        Raises:
            TooOftenError: the grant was refreshed too often within the last hour.
        """
        tokens, now = tables.tokens, self._clock()
        presented = sa.and_(
            tokens.c.token_hash == hash_secret(refresh_token),
            tokens.c.kind == CredentialKind.REFRESH,
        )
        if not await self._holds(tokens, presented, client_id):
            return None
        await self._check_pace(presented, now)
        seed = new_seed() if self._leeway else None
        async with self._database.write() as connection:
            grant_id = await _consume(connection, tokens, [presented], client_id, now, seed=seed)
            if grant_id is not None:
                await connection.execute(
                    tokens.delete().where(
                        tokens.c.grant_id == grant_id, tokens.c.kind == CredentialKind.ACCESS
                    )
                )
                used = sa.and_(tokens.c.grant_id == grant_id, tokens.c.consumed_at.is_not(None))
                await keep_newest(connection, used, tokens.c.consumed_at, REMEMBERED)
                pair = _successors(refresh_token, seed) if seed else _new_pair()
                return await _issue(connection, grant_id, client_id, pair, now)
            if again := await self._issued(connection, refresh_token, client_id, now):
                return again
            await _revoke_if_used(connection, tokens, presented, client_id, now, actor)
        return None

    async def revoke(self, token: str, client_id: str, *, actor: Actor = APP) -> None:
        """Revoke the grant behind a token of either kind, if it is this client's (RFC 7009)."""
        tokens = tables.tokens
        presented = tokens.c.token_hash == hash_secret(token)
        if not await self._holds(tokens, presented, client_id):
            return
        async with self._database.write() as connection:
            held = _issued_by(tokens, presented, client_id)
            await revoke(connection, tables.grants, held, actor, self._clock())

    async def client_of(self, token: str) -> str | None:
        """The id of the client that was given a token of either kind; None if it is unknown."""
        tokens, grants = tables.tokens, tables.grants
        query = (
            sa.select(grants.c.client_id)
            .join(tokens, tokens.c.grant_id == grants.c.id)
            .where(tokens.c.token_hash == hash_secret(token))
        )
        return await self._database.scalar(query)

    async def principal(self, access_token: str) -> Principal | None:
        """The principal of a live access token, with its grant in place of a key."""
        rows = await self._database.look_up(HOLDER, hash_secret(access_token))
        return principal_of(rows, self._clock())

    async def _holds(
        self, table: sa.Table, presented: sa.ColumnElement[bool], client_id: str
    ) -> bool:
        """Whether a live grant of a client has a credential, used or not.

        A guess must neither wait for the database's writer nor become one.
        """
        grants = tables.grants
        query = (
            sa.select(grants.c.id)
            .join(table, table.c.grant_id == grants.c.id)
            .where(presented, grants.c.client_id == client_id, grants.c.revoked_at.is_(None))
        )
        return await self._database.scalar(query) is not None

    async def _check_pace(self, presented: sa.ColumnElement[bool], now: dt.datetime) -> None:
        """Refuse a grant that is refreshed too often: each refresh leaves a row."""
        tokens, used = tables.tokens, tables.tokens.alias()
        query = (
            sa.select(sa.func.count(), sa.func.min(used.c.consumed_at))
            .join(tokens, tokens.c.grant_id == used.c.grant_id)
            .where(presented, tokens.c.consumed_at.is_(None))
            # Only refresh tokens are ever consumed.
            .where(used.c.consumed_at > now - HOUR, used.c.consumed_at <= now)
        )
        ((number, first),) = await self._database.rows(query)
        if number >= REFRESHES_AN_HOUR:
            raise TooOftenError(int((first + HOUR - now).total_seconds()) + 1)

    async def _issued(
        self, connection: AsyncConnection, refresh_token: str, client_id: str, now: dt.datetime
    ) -> TokenPair | None:
        """The pair that a client's refresh token gave within the leeway, if it is still unused."""
        tokens = tables.tokens
        used = sa.select(tokens.c.seed).where(
            tokens.c.token_hash == hash_secret(refresh_token),
            tokens.c.consumed_at > now - self._leeway,
        )
        seed = await connection.scalar(used)
        if seed is None:
            return None
        pair = _successors(refresh_token, seed)
        unused = sa.select(tokens.c.grant_id).where(
            tokens.c.token_hash == hash_secret(pair.refresh),
            tokens.c.consumed_at.is_(None),
            tokens.c.grant_id.in_(_live_grants(client_id)),
        )
        return pair if await connection.scalar(unused) is not None else None


async def _issue(
    connection: AsyncConnection, grant_id: int, client_id: str, pair: TokenPair, now: dt.datetime
) -> TokenPair:
    clients = tables.clients
    issued = ((CredentialKind.ACCESS, pair.access), (CredentialKind.REFRESH, pair.refresh))
    await connection.execute(
        clients.update().where(clients.c.client_id == client_id).values(used_at=now)
    )
    await connection.execute(
        tables.tokens.insert(),
        [
            {
                "token_hash": hash_secret(secret),
                "grant_id": grant_id,
                "kind": kind,
                "expires_at": now + LIFETIMES[kind],
            }
            for kind, secret in issued
        ],
    )
    return pair


def _new_pair() -> TokenPair:
    return TokenPair(new_credential(CredentialKind.ACCESS), new_credential(CredentialKind.REFRESH))


def _successors(refresh_token: str, seed: str) -> TokenPair:
    access, refresh = (
        successor(kind, refresh_token, seed)
        for kind in (CredentialKind.ACCESS, CredentialKind.REFRESH)
    )
    return TokenPair(access, refresh)


def _live_grants(client_id: str) -> sa.Select[tuple[int]]:
    """The grants of a client that are not revoked, and whose account is active."""
    grants, accounts = tables.grants, tables.accounts
    return (
        sa.select(grants.c.id)
        .join(accounts, accounts.c.id == grants.c.account_id)
        .where(grants.c.client_id == client_id, grants.c.revoked_at.is_(None), accounts.c.active)
    )


async def _consume(
    connection: AsyncConnection,
    table: sa.Table,
    usable: list[sa.ColumnElement[bool]],
    client_id: str,
    now: dt.datetime,
    **marks: str | None,
) -> int | None:
    """Mark a client's live credential as used; return its grant's id, None without a credential."""
    consumed = await connection.execute(
        table.update()
        .where(*usable, table.c.consumed_at.is_(None), table.c.expires_at > now)
        .where(table.c.grant_id.in_(_live_grants(client_id)))
        .values(consumed_at=now, **marks)
        .returning(table.c.grant_id)
    )
    grant_id: int | None = consumed.scalar_one_or_none()
    return grant_id


async def _note_issue(
    connection: AsyncConnection, grant_id: int, actor: Actor, now: dt.datetime
) -> None:
    grants = tables.grants
    query = sa.select(grants.c.account_id, grants.c.prefix, grants.c.name)
    row = (await connection.execute(query.where(grants.c.id == grant_id))).one()
    subject = f"{row.prefix} {row.name}"
    await add_event(connection, EventKind.TOKENS_ISSUED, actor, now, row.account_id, subject)


async def _revoke_if_used(
    connection: AsyncConnection,
    table: sa.Table,
    presented: sa.ColumnElement[bool],
    client_id: str,
    now: dt.datetime,
    actor: Actor,
) -> None:
    held = _issued_by(table, sa.and_(presented, table.c.consumed_at.is_not(None)), client_id)
    for grant in await revoke(connection, tables.grants, held, actor, now, EventKind.TOKEN_REUSED):
        what = "code" if table is tables.codes else "refresh token"
        log.warning(
            "Client %s reused a used %s; grant %s is revoked.", client_id, what, grant.prefix
        )


def _issued_by(
    table: sa.Table, presented: sa.ColumnElement[bool], client_id: str
) -> sa.ColumnElement[bool]:
    """Whether a grant issued a credential to this client. Another client revokes nothing: it may
    have found or guessed the credential.
    """
    grants = tables.grants
    issued = grants.c.id.in_(sa.select(table.c.grant_id).where(presented))
    return (grants.c.client_id == client_id) & issued
