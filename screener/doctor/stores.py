"""Stores: the accounts, the counts of calls and the shared nights, which other machines may hold.

What a check raises of the settings or the store is told as a fault of its name.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import anyio

from mcp_server.limits.local_counting import KEYS_A_DAY
from screener.doctor.result import CheckResult, fault, ok, warning
from screener.service.sharing import objects_of, served
from screener.settings.settings import Settings
from store.database.migration import HEAD, check_known
from store.database.problems import without_password
from store.errors import ConflictError, ObjectsError
from store.remote.objects import Objects
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
        words = (
            "has no tables yet; the next start makes them. Accounts of another database come here "
            "before it, by `screener db copy`."
        )
        yield warning("accounts", f"{shown} {words}")
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
    from redis.exceptions import AuthenticationError, RedisError, ResponseError

    shown = str(chosen.limits_url)
    away = (
        "calls are refused" if chosen.limits_away == "refuse" else "each machine counts by itself"
    )
    try:
        info = _redis_info(chosen.limits_url.get_secret_value())
    except AuthenticationError:
        words = "refuses the name or the password; correct them in SCREENER_LIMITS_URL."
        yield fault("limits", f"{shown} {words}")
    except ResponseError as error:
        words = f"answers but refuses ({str(error)[:80]}); check SCREENER_LIMITS_URL."
        yield fault("limits", f"{shown} {words}")
    except (RedisError, OSError):
        yield fault("limits", f"{shown} does not answer; {away}. Check its server.")
    else:
        yield from _redis_results(info, shown)


def documents_of_apps(chosen: Settings) -> Iterator[CheckResult]:
    """Whether apps may be known by documents, which are read from the Internet as a server does."""
    if not chosen.client_metadata_documents:
        yield ok("documents of apps", "not read; apps register instead")
        return
    from oauth.client_documents import unread
    from oauth.fetching import Fetcher, Resolver

    why = anyio.run(unread, Fetcher(Resolver()).read)
    words = f"cannot be read from here, so apps register instead ({why})" if why else "can be read"
    yield ok("documents of apps", words)


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
        words = (
            "may throw counts away and let too many calls pass; set `maxmemory-policy noeviction`"
        )
        yield warning("limits", f"{shown} {words}.")
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
        words = (
            "run `screener nightly` with this setting, or `screener night activate` for a night "
            "that is here"
        )
        yield warning(name, f"{place} has no night yet; {words}.")
        return
    night = read_published(pointer.body, place).active
    if not objects.has(book_object(key_of(night))):
        yield fault(name, f"{place} lacks the book of the night that it names; publish it again.")
        return
    yield ok(name, f"{place} answers and names {night.data_version}, of {night.as_of_session}")
    local = served(chosen)
    if local is not None and local.data_version == night.data_version:
        yield ok("night of the store", "it is the night that is here")
    else:
        here = (
            f"the night that is here is {local.data_version}" if local else "no night is here yet"
        )
        words = f"{here}; `screener serve` fetches {night.data_version} by itself."
        yield warning("night of the store", words)


def publishing(chosen: Settings) -> Iterator[CheckResult]:
    """Whether this machine may publish, and the store lets only one of two writers win: by an
    object of a name of its own, which is removed.
    """
    objects = objects_of(chosen)
    if objects is None:
        words = "SCREENER_NIGHTS_URL is unset: nights are published only into the data folder"
        yield ok("publishing", words)
        return
    name = f"doctor-{uuid.uuid4().hex}.txt"
    try:
        yield raced(objects, name)
    finally:
        with suppress(ObjectsError):
            objects.remove(name)


def raced(objects: Objects, name: str) -> CheckResult:
    """Two writers replace what both have read: the second must be told."""
    first = objects.swap(name, b"1", None)
    refuses_second = _is_refused(objects, name, b"2", None)
    objects.swap(name, b"3", first)
    if refuses_second and _is_refused(objects, name, b"4", first):
        words = f"{objects.place} can be written, and lets one of two writers win"
        return ok("publishing", words)
    return fault(
        "publishing",
        f"{objects.place} lets two writers replace one object at once, so two nightlies could "
        "undo each other; use a store with conditional puts, or run only one nightly.",
    )


def _is_refused(objects: Objects, name: str, body: bytes, tag: str | None) -> bool:
    try:
        objects.swap(name, body, tag)
    except ConflictError:
        return True
    return False
