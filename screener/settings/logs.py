"""Logs: what a process writes on stderr, each line with its time (UTC, ISO 8601), level and logger.

`SCREENER_LOG_LEVEL` is the level of this project's loggers. Libraries stay at warnings, since at
DEBUG some of them write header fields, whole tokens and the parameters of SQL statements.
"""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Callable, Mapping
from logging.config import dictConfig
from typing import Any, Literal

from screener.telemetry.request import current
from store.wire.words import harmless, short

LogLevel = Literal["debug", "info", "warning", "error"]
LogFormat = Literal["console", "json"]

PACKAGES = ("mcp_server", "oauth", "rest_facade", "screener", "store")

EVERY_SECONDS = 60.0
"""How often one message may be written, however often it is logged."""

MAX_MESSAGES = 1000
"""Messages whose times are remembered."""

MAX_LETTERS = 200
"""Characters by which messages are told apart."""

ACCESS = "access"
"""The logger of the access log, of which each line counts."""

NOT_REPEATED = (
    "screener.commands",
    "screener.notify",
    "screener.server",
    "screener.service",
    "mcp_server.limits.redis_counting",
    "store.remote.follower",
    "store.accounts.retention",
    "store.database.changes",
    ACCESS,
)
"""Loggers that no request makes repeat a line: those of what is told once when it changes, whose
last line says how things stand, and the access log.
"""


MAX_VALUE = 200
"""Characters of a field."""

PLAIN = re.compile(r"[\w.:/+-]+")
"""A value that needs no quotes."""

STANDARD = {*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"}
"""What every record has; whatever else one has, its logger got as `extra`."""

PLACED = ("timestamp", "level", "logger", "request_id", "event", "exception", "held_back")
"""What has a place of its own in a line; no field takes its name."""


class LineFormatter(logging.Formatter):
    """Formats a record as lines for people, or as one JSON object in one line.

    What callers sent may be part of a message or of an error. It can neither steer the terminal nor
    begin a line that looks like a record: the lines of a traceback are marked with a bar.
    """

    def __init__(self, log_format: LogFormat = "console") -> None:
        super().__init__()
        self._is_json = log_format == "json"

    def format(self, record: logging.LogRecord) -> str:
        """The lines, without a last newline."""
        seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        event: dict[str, Any] = {
            "event": harmless(record.getMessage().strip()),
            "logger": record.name,
            "level": record.levelname.lower(),
            "timestamp": f"{seconds}.{int(record.msecs):03d}Z",
        }
        if (request := current.get()) is not None:
            event["request_id"] = request.id
        if held_back := getattr(record, "held_back", 0):
            event["held_back"] = held_back
        event.update(_fields_of(record))
        if record.exc_info and record.exc_info[0]:  # nothing is known where nothing was raised
            trace = self.formatException(record.exc_info)
            event["exception"] = "\n".join(map(harmless, trace.splitlines()))
        return json.dumps(event) if self._is_json else _lines(event)


def _fields_of(record: logging.LogRecord) -> dict[str, object]:
    """What one of our own loggers got as `extra`; a library's fields may hold anything."""
    if record.name.partition(".")[0] not in (*PACKAGES, ACCESS):
        return {}
    extra = {name: value for name, value in vars(record).items() if name not in STANDARD}
    return {name: _bounded(value) for name, value in extra.items() if name not in PLACED}


def _bounded(value: object) -> object:
    is_number = value is None or isinstance(value, int | float)
    return value if is_number else short(str(value), MAX_VALUE)


def _lines(event: Mapping[str, Any]) -> str:
    """The lines for people; each begins with the time, the level, the logger and the request."""
    request = f" [{event['request_id']}]" if "request_id" in event else ""
    begin = f"{event['timestamp']} {event['level'].upper()} {event['logger']}{request}:"
    texts = {name: str(value) for name, value in event.items() if name not in PLACED}
    fields = "".join(
        f" {name}={text if PLAIN.fullmatch(text) else repr(text)}" for name, text in texts.items()
    )
    more = f" ({event['held_back']} more before this one)" if "held_back" in event else ""
    trace = [f"| {line}" for line in event.get("exception", "").splitlines()]
    return "\n".join(f"{begin} {line}" for line in (f"{event['event']}{fields}{more}", *trace))


class OncePerMinute(logging.Filter):
    """Lets each message through once a minute, and counts the others.

    Otherwise whoever repeats a request that is worth a line could fill the disk. Lines at DEBUG
    pass, as do those of `NOT_REPEATED`.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._seen: dict[tuple[object, ...], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is written; `held_back` then says how many like it were not."""
        if record.levelno <= logging.DEBUG or record.name.startswith(NOT_REPEATED):
            return True
        now, kind = self._clock(), record.exc_info[0] if record.exc_info else None
        message = (record.name, str(record.msg)[:MAX_LETTERS], kind)
        written, held_back = self._seen.pop(message, (now - EVERY_SECONDS, 0))
        if now - written < EVERY_SECONDS:
            self._seen[message] = written, held_back + 1
            return False
        while len(self._seen) >= MAX_MESSAGES:
            del self._seen[next(iter(self._seen))]
        self._seen[message] = now, 0
        record.held_back = held_back
        return True


def log_config(
    level: LogLevel, log_format: LogFormat = "console", *, access_log: bool = False
) -> dict[str, Any]:
    """The configuration of all loggers, as `logging.config.dictConfig` takes it."""
    ours = {name: {"level": level.upper()} for name in PACKAGES}
    # uvicorn says at INFO when it starts and stops.
    served = "INFO" if level == "debug" else level.upper()
    access = "INFO" if access_log else "WARNING"
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {"once": {"()": "screener.settings.logs.OncePerMinute"}},
        "formatters": {
            "lines": {"()": "screener.settings.logs.LineFormatter", "log_format": log_format}
        },
        "handlers": {
            "stderr": {
                "class": "logging.StreamHandler",
                "filters": ["once"],
                "formatter": "lines",
                "stream": "ext://sys.stderr",
            }
        },
        "root": {"level": "WARNING", "handlers": ["stderr"]},
        "loggers": {**ours, "uvicorn": {"level": served}, ACCESS: {"level": access}},
    }


def configure(level: LogLevel, log_format: LogFormat = "console") -> None:
    """Configure the logs of this process, unless whoever embeds it has done so."""
    if not logging.getLogger().handlers:
        dictConfig(log_config(level, log_format))
