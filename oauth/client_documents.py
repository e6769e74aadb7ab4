"""Client documents: an app's id may be the https address of a document that describes the app.

This is draft-ietf-oauth-client-id-metadata-document. This module decides which ids are such
addresses, what a document must say, and how long it stays fresh. Nobody verifies what it says.
"""

from __future__ import annotations

import datetime as dt
import logging
import math
import re
from collections import Counter
from collections.abc import Awaitable, Callable
from weakref import WeakValueDictionary

import anyio
from authlib.oauth2.rfc6749.errors import OAuth2Error
from cachetools import TTLCache

from mcp_server.calls.errors import ApiError, PageRefusal
from mcp_server.limits.limits import Limiter
from oauth.fetching import NETWORK_SHARE, SECONDS, Document, FetchError
from oauth.registration import (
    ClientMetadata,
    InvalidClientMetadataError,
    admit,
    checked,
    parse_object,
)
from store.accounts.accounts import utc_now
from store.accounts.clients import Client
from store.accounts.grants import Grants

MAX_CLIENT_ID = 300
MIN_PORT = 1024
"""The lowest port that an address may state; an address without a port means 443."""

LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
CHARACTER = r"(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%(?!2[EeFf]|5[Cc]|[01]|7[Ff])[0-9A-Fa-f]{2})"
ADDRESS = re.compile(
    rf"https://((?:{LABEL}\.)+(?=[a-z]){LABEL}(?::([1-9][0-9]{{3,4}}))?)"
    rf"((?:/{CHARACTER}*)+)(?:\?(?:{CHARACTER}|[/?])+)?"
)
"""Section 3 of the draft, in one spelling: a host name in lower case, not an IP address; no encoded
dot or slash."""

MIN_AGE, DEFAULT_AGE, MAX_AGE = dt.timedelta(minutes=5), dt.timedelta(hours=1), dt.timedelta(days=1)
"""How long a document stays fresh: at least, if its server does not say, and at most."""

TRIED = (
    "https://claude.ai/oauth/claude-code-client-metadata",
    "https://chatgpt.com/oauth/codex/client.json",
    "https://vscode.dev/oauth/client-metadata.json",
)
"""The documents of well-known hosts. Where one cannot be read, by a network without egress or a
server that bars machines, its host could not sign in by it.
"""

TRY_SECONDS = 900.0
"""Between two tries whether documents can be read."""

PAUSE = dt.timedelta(seconds=10)
"""How long an address is not read again after a failure."""
MAX_PAUSES = 1000

Read = Callable[[str], Awaitable[Document]]

log = logging.getLogger(__name__)


class ClientDocuments:
    """Reads the documents of clients, and stores what they say beside the registered clients."""

    def __init__(
        self,
        grants: Grants,
        read: Read,
        limiter: Limiter,
        clock: Callable[[], dt.datetime] = utc_now,
    ) -> None:
        self.unread = "they were not tried yet"
        """Why documents cannot be read here; empty if they can, so that they may be offered."""
        self._grants = grants
        self._read = read
        self._limiter = limiter
        self._clock = clock
        self._turns: WeakValueDictionary[str, anyio.Lock] = WeakValueDictionary()
        self._failed = TTLCache[str, bool](
            MAX_PAUSES, PAUSE.seconds, timer=lambda: clock().timestamp()
        )
        self._reading: Counter[str] = Counter()

    async def keep_trying(self) -> None:
        """Try whether documents can be read, at once and every quarter of an hour."""
        while True:
            why = await unread(self._read)
            if why and why != self.unread:
                log.info("Apps register, because a document cannot be read: %s", why)
            self.unread = why
            await anyio.sleep(TRY_SECONDS)

    async def client(self, client_id: str, network: str) -> Client:
        """The client that a document describes; the document is read if the stored client is stale.

        Raises:
            PageRefusal: it cannot be read, does not describe this client, or too many were read.
        """
        turn = self._turns.setdefault(client_id, anyio.Lock())
        async with turn:
            stored = await self._grants.client(client_id)
            if stored is not None and stored.fresh_until and self._clock() < stored.fresh_until:
                return stored
            await self._admit(client_id, network)
            self._reading[network] += 1
            try:
                return await self._renew(client_id, network)
            finally:
                self._reading -= Counter((network,))

    async def _admit(self, client_id: str, network: str) -> None:
        if client_id in self._failed:
            wait = PAUSE.seconds
            message = f"This app's description could not be read. Wait {wait} s and try again."
            raise PageRefusal(503, message, wait)
        if self._reading[network] >= NETWORK_SHARE:
            message = "Other new apps on your network are being looked up. Try again in a moment."
            raise PageRefusal(503, message, math.ceil(SECONDS))
        try:
            await admit(self._limiter, network)
        except ApiError as error:
            wait = error.retry_after
            if error.code == "unavailable":
                message = f"No new apps can be admitted now. Wait {wait} s and try again."
                raise PageRefusal(503, message, wait) from error
            message = f"Too many new apps. Wait {wait} s and try again."
            raise PageRefusal(429, message, wait) from error

    async def _renew(self, client_id: str, network: str) -> Client:
        try:
            document = await self._read(client_id)
            metadata = read_document(client_id, document.body)
        except (FetchError, OAuth2Error) as error:
            self._failed[client_id] = True
            message = self._sentence(client_id, error)
            log.info("%s (%s)", message, client_id)
            raise PageRefusal(400, message) from error
        return await self._grants.keep_document(
            client_id,
            metadata.client_name,
            tuple(metadata.redirect_uris),
            self._clock() + lifetime(document.max_age),
            network=network,
        )

    def _sentence(self, client_id: str, error: FetchError | OAuth2Error) -> str:
        """What a person reads whose app cannot be known by its document, and can do about it."""
        named = f"This app's description at {document_host(client_id)} cannot be"
        key = "connect it with an API key: the page /connect shows how."
        if isinstance(error, OAuth2Error):
            fault = str(error.description).rstrip(".")
            return f"{named} used: {fault}. Tell the maker of the app, or {key}"
        # This machine may have no way to the Internet, or a name server that is down.
        again = "start the sign-in again, for which it will register, or " if self.unread else ""
        fault = str(error).rstrip(".")
        return (
            f"{named} read from here: {fault}. Go back to the app and {again}{key} If that goes "
            "on, tell whoever runs this server."
        )


async def unread(read: Read) -> str:
    """Why one of the documents that are tried cannot be read; empty if all can."""
    for client_id in TRIED:
        try:
            read_document(client_id, (await read(client_id)).body)
        except (FetchError, OAuth2Error) as error:
            fault = error.description if isinstance(error, OAuth2Error) else error
            return f"that of {document_host(client_id)}: {fault}"
    return ""


def read_document(client_id: str, body: bytes) -> ClientMetadata:
    """The metadata in a client document: as at registration, but without a secret.

    Raises:
        OAuth2Error: a field is unusable, or the document describes another client.
    """
    stated = parse_object(body)
    if stated.get("client_id") != client_id:
        raise InvalidClientMetadataError("its client_id is not its address")
    if "client_secret" in stated or "client_secret_expires_at" in stated:
        raise InvalidClientMetadataError("it contains a secret")
    # private_key_jwt is not offered: the client's keys would cost one more fetch per sign-in.
    if (stated.get("token_endpoint_auth_method") or "none") != "none":
        raise InvalidClientMetadataError("its token_endpoint_auth_method is not none")
    name = stated.get("client_name") or document_host(client_id)
    return checked({**stated, "client_name": name})


def document_host(client_id: str) -> str | None:
    """The host of a document, with its port; None if the id cannot be a document's address."""
    address = ADDRESS.fullmatch(client_id) if len(client_id) <= MAX_CLIENT_ID else None
    if address is None or address[3] == "/" or {".", ".."} & set(address[3].split("/")):
        return None
    if address[2] and not MIN_PORT <= int(address[2]) < 65536:
        return None
    return address[1]


def lifetime(max_age: int | None) -> dt.timedelta:
    """How long a document stays fresh, given the seconds that its server states."""
    stated = DEFAULT_AGE if max_age is None else dt.timedelta(seconds=max_age)
    return min(max(stated, MIN_AGE), MAX_AGE)
