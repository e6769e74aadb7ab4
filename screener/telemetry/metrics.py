"""Metrics: the instruments of a process, by the naming rules of Prometheus.

No label has a value that a caller chooses, so their number is bounded. Whoever counts something
counts it always, which takes less than a microsecond; only what each request would pay for, and
what must be looked up, is left out where nobody asks for `/metrics`.

Several processes that serve together write into the files of one folder (prometheus_client's
multiprocess mode), which it finds by an environment variable when it is imported.
"""

from __future__ import annotations

import platform
from collections import Counter as Counted
from typing import Literal, NamedTuple, get_args

from prometheus_client import Counter, Gauge, Histogram, disable_created_metrics

from screener.telemetry.request import Request

# Else each has a second series, for which Prometheus has no use.
disable_created_metrics()  # type: ignore[no-untyped-call]

BUCKETS = (
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
    0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
)  # fmt: skip
"""Seconds: from a stored answer to the longest that anybody waits."""

requests = Counter(
    "screener_requests_total",
    "Requests that were answered, by surface, operation and code.",
    ["surface", "operation", "code"],
)
request_seconds = Histogram(
    "screener_request_duration_seconds",
    "Time from a request to the end of its answer.",
    ["surface", "operation"],
    buckets=BUCKETS,
)
limits_hit = Counter(
    "screener_limits_hit_total", "Requests and connections that a limit refused.", ["limit"]
)
limits_away = Counter(
    "screener_limits_away_total",
    "Calls that came while the Redis of the limits was away, by what happened to them.",
    ["action"],
)
cache_lookups = Counter(
    "screener_cache_lookups_total", "Look-ups in a cache, by what they found.", ["cache", "result"]
)
database_seconds = Histogram(
    "screener_database_wait_seconds",
    "Time waited for the account database: for a connection, or for a statement.",
    ["step"],
    buckets=BUCKETS,
)
database_failures = Counter(
    "screener_database_failures_total",
    "Transactions that failed: the database did not answer, or it refused a statement.",
    ["reason"],
)
drawing_seconds = Histogram(
    "screener_drawing_duration_seconds",
    "Time from the wish for a chart that was not kept to the chart.",
    buckets=BUCKETS,
)
drawings_waiting = Gauge(
    "screener_drawings_waiting",
    "Charts that are being drawn or wait for it.",
    multiprocess_mode="livesum",
)
connections = Gauge("screener_connections_open", "Open connections.", multiprocess_mode="livesum")
usage_rows_waiting = Gauge(
    "screener_usage_rows_waiting",
    "Lines of the usage log that are not written yet.",
    multiprocess_mode="livesum",
)
usage_behind = Gauge(
    "screener_usage_behind",
    "1 while the usage log cannot be written, and its lines wait.",
    multiprocess_mode="livemax",
)
loop_restarts = Counter(
    "screener_loop_restarts_total", "Background loops that failed and were started again.", ["loop"]
)
night_session = Gauge(
    "screener_night_session_timestamp_seconds",
    "The session of the night that is served, at 0 h UTC; 0 while there is none. Of several "
    "workers the oldest.",
    multiprocess_mode="livemin",
)
night_sample = Gauge(
    "screener_night_is_sample",
    "1 while the sample night is served, which never gets newer.",
    multiprocess_mode="livemax",
)
nights_reached = Gauge(
    "screener_nights_reached_timestamp_seconds",
    "When the shared store of nights answered last; 0 without one, or before it did. Of several "
    "workers the one that reached it longest ago.",
    multiprocess_mode="livemin",
)
nights_failures = Counter(
    "screener_nights_failures_total",
    "Looks at the shared store of nights that failed: it did not answer, or not what was sealed.",
)
sessions_behind = Gauge(
    "screener_night_sessions_behind",
    "Sessions that have ended since the night that is served, as far as it names them.",
    multiprocess_mode="livemax",
)
degraded = Gauge(
    "screener_degraded",
    "1 while a part of the service is worse than it should be, as /health/ready names it.",
    ["part"],
    multiprocess_mode="livemax",
)
data_free = Gauge(
    "screener_data_free_bytes",
    "Bytes that are free on the disk of the data folder.",
    multiprocess_mode="livemax",
)
data_size = Gauge(
    "screener_data_size_bytes",
    "Bytes of the disk of the data folder.",
    multiprocess_mode="livemax",
)
workers = Gauge("screener_workers", "Processes that serve.", multiprocess_mode="livesum")
build_info = Gauge(
    "screener_build_info",
    "1, with the versions of the program and of Python.",
    ["version", "python"],
    multiprocess_mode="livemax",
)

Part = Literal["night", "new_night", "nights", "database", "counters", "loops", "charts", "restore"]

PARTS: tuple[Part, ...] = get_args(Part)


class Degraded(NamedTuple):
    """A part that is worse than it should be."""

    part: Part
    why: str
    """A sentence for anybody: it names no path, no address and no secret."""


LIMITS = (
    "key_minute", "key_day", "account_minute", "account_day", "address_minute",
    "list", "refused", "page", "pictures", "passwords", "apps",
    "connections", "connections_of_network", "requests_at_once", "drawings",
)  # fmt: skip
for _limit in LIMITS:  # a first hit is then an increase, and not a series that begins
    limits_hit.labels(_limit)
for _action in ("local", "refused"):
    limits_away.labels(_action)
for _reason in ("unavailable", "refused"):
    database_failures.labels(_reason)

MAX_UNPUBLISHED = 256
"""Requests that wait to be counted where `/metrics` reads."""

_answered: list[tuple[tuple[str, str, str], float]] = []


def record(request: Request) -> None:
    """Note a request that was answered. The instruments are cheaper for many at once."""
    labels = request.surface or "other", request.operation or "other", request.code
    _answered.append((labels, request.milliseconds / 1000))
    if len(_answered) >= MAX_UNPUBLISHED:
        publish()


def publish() -> None:
    """Count the requests that were noted, and the look-ups in caches, where `/metrics` reads."""
    for labels, number in Counted(labels for labels, _ in _answered).items():
        requests.labels(*labels).inc(number)
        observe = request_seconds.labels(*labels[:2]).observe
        for each, seconds in _answered:
            if each == labels:
                observe(seconds)
    _answered.clear()
    for cache in (answers_cache, principals_cache, charts_cache):
        cache.publish()


class Lookups:
    """What look-ups in one cache found since it was published last: a plain number takes a tenth of
    the time of a counter, and every request looks up twice.
    """

    def __init__(self, cache: str) -> None:
        self._counters = cache_lookups.labels(cache, "hit"), cache_lookups.labels(cache, "miss")
        self.hits = self.misses = 0

    def publish(self) -> None:
        """Count them where `/metrics` reads."""
        hit, miss = self._counters
        hit.inc(self.hits)
        miss.inc(self.misses)
        self.hits = self.misses = 0


answers_cache, principals_cache, charts_cache = map(Lookups, ("answers", "principals", "charts"))


def announce(version: str) -> None:
    """Say that this process serves, and which version of the program."""
    workers.set(1)
    build_info.labels(version, platform.python_version()).set(1)
