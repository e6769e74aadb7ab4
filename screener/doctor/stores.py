"""Stores: the accounts, the counts of calls and the shared nights, which other machines may hold.

What a check raises of the settings or the store is told as a fault of its name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import anyio

from mcp_server.limits.local_counting import KEYS_A_DAY
from screener.doctor.result import CheckResult, fault, ok, warning
from screener.service.sharing import objects_of, served
from screener.settings.settings import Settings
from store.database.migration import HEAD, check_known
from store.database.problems import without_password
from store.remote.pointer import MAX_BYTES, POINTER, book_object, key_of, read_published

DATABASE_SECONDS: Final = 60.0
"""For which the database may take, with a look at all of its rows."""

REDIS_SECONDS: Final = 3.0
"""For which Redis may take to answer."""


def accounts(chosen: Settings) -> Iterator[CheckResult]:
    """Whether the database answers, has this program's schema and is sound; nothing is migrated."""
    shown = without_password(chosen.accounts_url)
    file = chosen.accounts_url.partition("sqlite+aiosqlite:///")[2]
    is_made = Path(file).parent.is_dir() or not chosen.database_url
    if file and is_made and not Path(file).exists():
        yield ok("accounts", f"{file} does not exist yet; the first command or start makes it")
        return
    try:
        revision, faults = anyio.run(_inspect, chosen)
    except TimeoutError:
        words = f"{shown} did not answer within {DATABASE_SECONDS:g} s; check its server."
        yield fault("accounts", words)
        return
    check_known(revision)
    if revision is None:
        how = "copy accounts into it by `screener db copy`, or let the next start make them"
        yield warning("accounts", f"{shown} has no tables yet; {how}.")
    elif revision != HEAD:
        words = f"{shown} is at schema {revision}; the next start migrates it."
        yield warning("accounts", words)
    elif faults:
        words = f"{shown} is damaged ({faults[0]}); restore it from a backup."
        yield fault("accounts", words)
    else:
        yield ok("accounts", f"{shown}, schema {revision}")


async def _inspect(chosen: Settings) -> tuple[str | None, list[str]]:
    """The revision of the accounts, and what is wrong with those of this program's schema."""
    async with chosen.database() as database:
        with anyio.fail_after(DATABASE_SECONDS):
            revision = await database.revision()
            if revision != HEAD:
                return revision, []
            await database.probe()
            return revision, await database.faults()


def limits(chosen: Settings) -> Iterator[CheckResult]:
    """Whether the Redis in which calls are counted answers and keeps them; nothing is changed."""
    if chosen.limits_url is None:
        yield ok("limits", f"counted in the memory of this machine, {KEYS_A_DAY:,} keys a day")
        return
    from redis.exceptions import RedisError

    shown = str(chosen.limits_url)
    try:
        info = _redis_info(chosen.limits_url.get_secret_value())
    except (RedisError, OSError) as error:
        away = "refused" if chosen.limits_away == "refuse" else "counted by each machine itself"
        words = f"does not count ({str(error)[:80].rstrip('.')}), so calls are {away}; check its"
        yield fault("limits", f"{shown} {words} server, and the password in SCREENER_LIMITS_URL.")
    else:
        yield from _redis_results(info, shown)


def _redis_info(url: str) -> Mapping[str, Any]:
    from redis import Redis
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    retry, seconds = Retry(NoBackoff(), 0), REDIS_SECONDS
    with Redis.from_url(
        url, socket_timeout=seconds, socket_connect_timeout=seconds, retry=retry
    ) as client:
        info: Mapping[str, Any] = client.info()
        return info


def _redis_results(info: Mapping[str, Any], shown: str) -> Iterator[CheckResult]:
    if info.get("role") == "slave":
        yield fault("limits", f"{shown} is a replica, which cannot be written; name its primary.")
    else:
        yield ok("limits", f"{shown}, Redis {info.get('redis_version')}")
    if info.get("maxmemory_policy", "noeviction") != "noeviction":
        words = "may drop counts, so that calls pass; set `maxmemory-policy noeviction`."
        yield warning("limits", f"{shown} {words}")
    if not info.get("aof_enabled"):
        words = "loses every count when it restarts; set `appendonly yes`"
        yield warning("limits", f"{shown} {words}.")


def store_of_nights(chosen: Settings) -> Iterator[CheckResult]:
    """Whether the shared store answers, and names the night that is here; nothing is changed."""
    objects = objects_of(chosen)
    if objects is None:
        return
    name, place = "store of nights", objects.place
    pointer = objects.read(POINTER, MAX_BYTES)
    if pointer is None:
        how = "run `screener nightly`, or `screener night activate` for a night that is here"
        yield warning(name, f"{place} has no night yet; {how}.")
        return
    night = read_published(pointer.body, place).active
    if not objects.has(book_object(key_of(night))):
        yield fault(name, f"{place} lacks the book of the night that it names; publish it again.")
        return
    yield ok(name, f"{place} answers and names {night.data_version}, of {night.as_of_session}")
    local = served(chosen)
    if local and local.data_version == night.data_version:
        yield ok("night of the store", "it is the night that is here")
    else:
        here = f"{local.data_version if local else 'no night'} is here"
        words = f"{here}; `screener serve` fetches {night.data_version} by itself."
        yield warning("night of the store", words)
