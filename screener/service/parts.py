"""Parts: what the settings choose for a service.

The process that starts the workers uses one or two, so what only few need is imported where it is
made.
"""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import anyio

from screener.settings.errors import how_to_install
from screener.settings.settings import Settings, SettingsError
from store.accounts.accounts import Accounts, Clock, utc_now
from store.accounts.audit import AuditLog
from store.accounts.grants import Grants
from store.accounts.keys import Keys
from store.accounts.retention import Periods, Sweeper
from store.accounts.screens import Screens
from store.accounts.sessions import Browsers, Sessions
from store.accounts.tokens import Tokens
from store.database.database import Database
from store.errors import DatabaseUnavailableError

if TYPE_CHECKING:
    from mcp_server.http.requests import Origins
    from mcp_server.limits.limits import Limiter
    from mcp_server.limits.local_counting import LocalCounting
    from mcp_server.limits.redis_counting import RedisCounting
    from screener.web.site.policies import Policies
    from store.accounts.usage import UsageLog

log = logging.getLogger(__name__)

MAX_BYTES = 256 * 1024
"""The most bytes of one text of the operator."""

LOOK_SECONDS = 0.5
"""Between two looks at Redis: so long it may count again before it is noticed."""

LOOPBACK = ("127.0.0.1:*", "localhost:*", "[::1]:*")

PRIVATE = ("localhost", "local", "internal", "home.arpa", "lan", "home", "corp", "intranet")
"""Endings of names that mean nothing on the Internet (RFC 6761, 6762 and 8375, and by custom)."""


def periods_of(settings: Settings) -> Periods:
    """How long is kept what the service stores of people."""
    return Periods(
        usage=dt.timedelta(days=settings.usage_days),
        audit=dt.timedelta(days=settings.audit_days),
        session_idle=dt.timedelta(days=settings.session_idle_days),
        session=dt.timedelta(days=settings.session_days),
    )


class AccountStore:
    """What reads and changes accounts; sign-ins and approvals end by the clock."""

    def __init__(self, settings: Settings, database: Database, clock: Clock = utc_now) -> None:
        periods = periods_of(settings)
        self.settings, self.database, self.clock = settings, database, clock
        self.accounts = Accounts(database)
        self.keys = Keys(database, prefix=settings.key_prefix)
        self.screens = Screens(database, clock=clock)
        self.sessions = Sessions(
            database, idle=periods.session_idle, lifetime=periods.session, clock=clock
        )
        self.browsers = Browsers(database, clock=clock)
        self.grants = Grants(database, clock=clock)
        leeway = dt.timedelta(seconds=settings.refresh_leeway_seconds)
        self.tokens = Tokens(database, clock=clock, leeway=leeway)
        self.audit = AuditLog(database)
        self.sweeper = Sweeper(database, periods, clock=clock)


def counting_of(settings: Settings, folder: Path | None = None) -> LocalCounting | RedisCounting:
    """What counts calls: in the memory of this machine, or in Redis for several.

    Several processes that serve together count in the files of one folder.

    Raises:
        SettingsError: the driver of Redis is not installed.
        CountersError: the folder cannot hold exact counts.
    """
    from mcp_server.limits.local_counting import LocalCounting

    if settings.limits_url is None:
        return LocalCounting(folder=folder)
    if find_spec("redis") is None:
        raise SettingsError(
            f"SCREENER_LIMITS_URL: redis is not installed; {how_to_install('redis')}."
        )
    from mcp_server.limits.redis_counting import RedisCounting

    meanwhile = LocalCounting(folder=folder) if settings.limits_away == "local" else None
    return RedisCounting(settings.limits_url.get_secret_value(), meanwhile)


async def resume_days(limiter: Limiter, usage: UsageLog) -> None:
    """Count on where the day's calls stood when the service was stopped."""
    try:
        await limiter.resume(await usage.calls_today())
    except DatabaseUnavailableError as error:
        log.warning("Today's calls are counted from zero: %s", error)


async def start_redis(redis: RedisCounting, resume: Callable[[], Awaitable[None]]) -> None:
    """Look for Redis, so that the first call is counted there; resume what it has not."""
    if await redis.look() or redis.is_away:
        await resume()


async def keep_redis(redis: RedisCounting, resume: Callable[[], Awaitable[None]]) -> None:
    """Look for Redis until cancelled. When it has lost its counts, it gets those of the day; when
    it goes away, this machine counts on where all machines together stood.
    """
    while True:
        was_away = redis.is_away
        await anyio.sleep(LOOK_SECONDS)
        if await redis.look() or (redis.is_away and not was_away):
            await resume()


def origins_of(settings: Settings) -> Origins:
    """The Host and Origin fields that the MCP endpoints accept.

    A page of any site may call a service on the Internet. It may not call one on loopback or on a
    private network, where the browser reaches more than the stranger who wrote the page.
    """
    from mcp_server.http.requests import Origins

    host = urlsplit(settings.url).netloc
    loopback = [f"http://{name}" for name in LOOPBACK]
    return Origins(
        hosts=[host, *LOOPBACK, *settings.allowed_hosts],
        origins=[settings.url, *loopback, *settings.allowed_origins],
        open_host=host if is_on_the_internet(settings.url) else None,
    )


def is_on_the_internet(url: str) -> bool:
    """Whether an address is https, with a name or number that everybody can reach."""
    from oauth.addresses import is_ip_address, is_public

    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme != "https":
        return False
    if is_ip_address(host):
        return is_public(host)
    name = host.removesuffix(".")
    return "." in name and not name.endswith(tuple(f".{ending}" for ending in PRIVATE))


def policies_of(settings: Settings) -> Policies:
    """The operator's own privacy page and terms, or what the settings say of themselves.

    Raises:
        SettingsError: a file is missing, empty, too large or no text; the error names the setting.
    """
    from screener.web.site.policies import Policies, default_privacy, default_terms

    offer, periods = settings.offer, periods_of(settings)
    return Policies(
        privacy=_read("SCREENER_PRIVACY", settings.privacy) or default_privacy(offer, periods),
        terms=_read("SCREENER_TERMS", settings.terms) or default_terms(offer, settings.disclaimer),
    )


def _read(name: str, path: Path | None) -> str | None:
    if path is None:
        return None
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
        text = content.decode()
    except OSError as error:
        raise SettingsError(f"{name}: {path} cannot be read ({error.strerror}).") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"{name}: {path} is not text in UTF-8.") from error
    if len(content) > MAX_BYTES:
        raise SettingsError(f"{name}: {path} is over {MAX_BYTES // 1024} KB.")
    if not text.strip():
        raise SettingsError(f"{name}: {path} is empty.")
    return text
