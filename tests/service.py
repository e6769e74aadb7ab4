"""A running service for tests: the real app on a real port, with its own data folder."""

from __future__ import annotations

import secrets
import shutil
import socket
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import httpx
import uvicorn
from starlette.types import Receive, Scope, Send

from mcp_server.operations.services import Services
from oauth.fetching import Fetcher
from screener.server.serving import server_config
from screener.service.app import build_app, services_of
from screener.service.parts import AccountStore
from screener.settings.settings import Settings
from store.accounts.accounts import AccountPlan, Accounts, Clock, utc_now
from store.accounts.keys import Keys
from store.accounts.watchlist import Watchlist
from store.database.database import Database
from tests.accounts import apart as apart
from tests.accounts import new_accounts
from tests.oauth.documents import offline

T = TypeVar("T")

TRACKED = ("AAPL", "GOOG", "IBM", "MSFT")

PASSWORD = "correct horse battery"
PASSWORD_HASH = (
    "$argon2id$v=19$m=8,t=1,p=1$ZCCQuZ2K3IAARLu9X0rN/A$asbwenr1xen8wlg5AYIEdD6Z9+CCnCkrOGRSO/syX2Y"
)
"""The hash of `PASSWORD`, with cheap parameters, since the tests are not about hashes."""


@dataclass(frozen=True)
class Service:
    """A live service, one account on it and a key of that account."""

    settings: Settings
    url: str
    key: str

    @property
    def base(self) -> str:
        """The REST base."""
        return f"{self.url}/api/v1"

    @property
    def mcp_url(self) -> str:
        """The agent endpoint."""
        return f"{self.url}/mcp"

    @property
    def extended_url(self) -> str:
        """The agent endpoint with all tools."""
        return f"{self.mcp_url}/extended"

    def get(self, path: str, *, key: str | None = None, **options: Any) -> httpx.Response:
        """GET below the REST base; with the service's own key unless told otherwise ('' = none)."""
        return self.request("GET", path, key=key, **options)

    def request(
        self, method: str, path: str, *, key: str | None = None, **options: Any
    ) -> httpx.Response:
        """One REST request."""
        token = self.key if key is None else key
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        headers.update(options.pop("headers", {}))
        options = {"timeout": 30, **options}
        return httpx.request(method, self.base + path, headers=headers, **options)

    def tracked(self, key: str | None = None) -> list[str]:
        """The tracked tickers of a key's account, as the API lists them."""
        answer = self.get("/tickers", key=key).raise_for_status().json()
        return [ticker["symbol"] for ticker in answer["tickers"]]

    def new_key(
        self, plan: AccountPlan = AccountPlan.PREMIUM_PLUS, tracked: Sequence[str] = TRACKED
    ) -> str:
        """The secret of a new account of its own address that tracks some symbols."""
        return new_key(self.settings, f"{secrets.token_hex(4)}@example.com", plan, tuple(tracked))

    def accounts(self, work: Callable[[Accounts], Coroutine[Any, Any, T]]) -> T:
        """Do something with the accounts, as the operator's commands do."""
        return on_accounts(self.settings, work)

    def keys(self, work: Callable[[Keys], Coroutine[Any, Any, T]]) -> T:
        """Do something with the keys, as the operator's commands do."""
        return on_keys(self, work)


def on_keys(service: Service, work: Callable[[Keys], Coroutine[Any, Any, T]]) -> T:
    """Do something with the keys, as the operator's commands do."""
    prefix = service.settings.key_prefix
    return on_database(service, lambda database: work(Keys(database, prefix=prefix)))


def on_accounts(settings: Settings, work: Callable[[Accounts], Coroutine[Any, Any, T]]) -> T:
    """Run work on the accounts of some settings."""

    async def run() -> T:
        async with _opened(settings) as database:
            return await work(Accounts(database))

    return apart(run)


@asynccontextmanager
async def _opened(settings: Settings) -> AsyncIterator[Database]:
    """The account database of some settings, migrated."""
    if not settings.database_url:
        new_accounts(settings.data_dir)
    async with Database(settings.accounts_url) as database:
        await database.migrate()
        yield database


def on_database(service: Service, work: Callable[[Database], Coroutine[Any, Any, T]]) -> T:
    """Do something with the account database, beside the running service."""
    return at_database(service.settings.accounts_url, work)


def at_database(url: str, work: Callable[[Database], Coroutine[Any, Any, T]]) -> T:
    """Do something with the database at an address."""

    async def run() -> T:
        async with Database(url) as database:
            return await work(database)

    return apart(run)


def new_key(
    settings: Settings,
    email: str = "reader@example.com",
    plan: AccountPlan = AccountPlan.PREMIUM_PLUS,
    tracked: tuple[str, ...] = TRACKED,
) -> str:
    """The secret of a new account that tracks some symbols."""

    async def run() -> str:
        async with _opened(settings) as database:
            accounts, keys = Accounts(database), Keys(database, prefix=settings.key_prefix)
            # With a password, since the sign-in page of a service on which nobody has one differs.
            account = await accounts.add(email, plan, PASSWORD_HASH)
            await Watchlist(database).change(account.id, lambda _: tracked)
            return (await keys.create(email, "test"))[1]

    return apart(run)


@asynccontextmanager
async def services_over(folder: Path, **settings: Any) -> AsyncIterator[tuple[Services, Database]]:
    """What operations use over a data folder, before its night is looked for, and the accounts."""
    chosen = Settings(data_dir=folder, **settings)
    async with _opened(chosen) as database:
        services = services_of(AccountStore(chosen, database))
        yield services, database
        services.active_night.close()


def copy_night(night: Path, folder: Path) -> None:
    """Put a copy of a sealed night into another data folder."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copytree(night / "nights", folder / "nights", dirs_exist_ok=True)
    shutil.copy(night / "manifest.json", folder / "manifest.json")


@contextmanager
def serving(
    folder: Path,
    *,
    email: str = "reader@example.com",
    fetcher: Fetcher | None = None,
    clock: Clock = utc_now,
    **settings: Any,
) -> Iterator[Service]:
    """Serve a data folder on a free port within the block, with a key of a new account.

    Without a fetcher, no document of an app is found: tests leave the Internet alone.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(128)
        port = listener.getsockname()[1]
        options = {
            "keyless_per_minute": 10_000,
            "key_per_minute": 10_000,
            "registrations_per_minute": 10_000,
            "other_per_minute": 10_000,
            "charts_warm": False,
            **settings,
        }
        chosen = Settings(data_dir=folder, port=port, **options)
        key = new_key(chosen, email)
        app = build_app(chosen, fetcher or Fetcher(offline), clock=clock)

        async def serve(scope: Scope, receive: Receive, send: Send) -> None:
            # uvicorn calls an app without arguments to see whether it makes one, and the wrapper
            # that mutmut puts around the app's own method takes such a call.
            await app(scope, receive, send)

        server = uvicorn.Server(server_config(serve, chosen, log_config=None))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        url = f"http://127.0.0.1:{port}"
        try:
            _wait_until_ready(url)
            yield Service(chosen, url, key)
        finally:
            server.should_exit = True
            thread.join(timeout=30)
            assert not thread.is_alive(), "the service does not stop"


def _wait_until_ready(url: str) -> None:
    # The socket is already listening, so the first request waits in its queue until the app is up.
    address = f"{url}/.well-known/oauth-protected-resource/mcp"
    httpx.get(address, timeout=30).raise_for_status()
