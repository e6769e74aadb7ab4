"""Limits: whether the Redis in which calls are counted answers, and keeps what it counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from screener.doctor.checks.asking import within
from screener.doctor.checks.finding import Finding, fault, ok, warning
from screener.settings.extras import how_to_install

if TYPE_CHECKING:
    from screener.settings.settings import Settings

SECONDS: Final = 3.0
"""For which Redis may take to answer."""

OLDEST: Final = (6, 2)
"""The version of Redis that has the commands of the script and is still maintained by somebody."""

AOF: Final = "set `appendonly yes`, or a restart of Redis resets every count"
POLICY: Final = (
    "set `maxmemory-policy noeviction`, or a full Redis forgets counts and lets too many calls pass"
)


def limits(chosen: Settings) -> Iterator[Finding]:
    """What Redis says of itself; nothing is counted or changed."""
    if chosen.limits_url is None:
        yield ok("limits", "counted in the memory of this machine")
        return
    if find_spec("redis") is None:
        yield fault("limits", f"redis is not installed; {how_to_install('redis')}.")
        return
    from redis.exceptions import AuthenticationError, RedisError, ResponseError

    from store.database.reaching import without_password

    url = chosen.limits_url
    shown = without_password(url)
    try:
        said = within(SECONDS, lambda: _info(url))
    except AuthenticationError:
        words = "refuses the name or the password; correct them in SCREENER_LIMITS_URL."
        yield fault("limits", f"{shown} {words}")
    except ResponseError as error:
        said_so = str(error)[:80]
        yield fault(
            "limits", f"{shown} answers but refuses ({said_so}); check SCREENER_LIMITS_URL."
        )
    except (RedisError, OSError, TimeoutError):
        yield fault("limits", f"{shown} does not answer; {_meanwhile(chosen)}. Check its server.")
    else:
        yield from _told(said, shown)


def _meanwhile(chosen: Settings) -> str:
    refused = chosen.limits_away == "refuse"
    return "calls are refused" if refused else "each machine counts by itself"


def _info(url: str) -> Mapping[str, Any]:
    from redis import Redis
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    retry = Retry(NoBackoff(), 0)
    with Redis.from_url(
        url, socket_timeout=SECONDS, socket_connect_timeout=SECONDS, retry=retry
    ) as client:
        said: Mapping[str, Any] = client.info()
        return said


def _told(said: Mapping[str, Any], shown: str) -> Iterator[Finding]:
    version = str(said.get("redis_version", "0"))
    numbers = tuple(int(part) if part.isdigit() else 0 for part in version.split(".")[:2])
    found = [
        *_faults(said, numbers, shown),
        *_warnings(said, shown),
    ]
    yield from found or [ok("limits", f"{shown}, Redis {version}, keeps what it counts")]


def _faults(said: Mapping[str, Any], numbers: tuple[int, ...], shown: str) -> Iterator[Finding]:
    if said.get("loading"):
        yield fault("limits", f"{shown} is loading its data; wait, and ask again.")
    if numbers < OLDEST:
        least = ".".join(map(str, OLDEST))
        yield fault("limits", f"{shown} is older than Redis {least}; install a newer one.")
    if said.get("role") == "slave":
        yield fault("limits", f"{shown} is a replica, which cannot be written; name its primary.")


def _warnings(said: Mapping[str, Any], shown: str) -> Iterator[Finding]:
    if said.get("maxmemory_policy", "noeviction") != "noeviction":
        yield warning("limits", f"{shown} may throw counts away; {POLICY}.")
    if not said.get("aof_enabled"):
        yield warning("limits", f"{shown} does not keep what it counts; {AOF}.")
