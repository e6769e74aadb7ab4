"""Logs: what a process writes on stderr, each line with its time (UTC, ISO 8601), level and logger.

`SCREENER_LOG_LEVEL` is the level of this project's loggers. Libraries stay at warnings, since at
DEBUG some of them write header fields, whole tokens and the parameters of SQL statements.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from logging.config import dictConfig
from typing import Any

from store.lines import harmless

PACKAGES = (
    *("mcp_server", "nightly", "oauth", "rest_facade", "screener", "store", "telemetry", "web"),
)

EVERY_SECONDS = 60.0
"""How often one message may be written, however often it is logged."""

MOST_MESSAGES = 1000
"""Messages whose times are remembered."""

MOST_LETTERS = 200
"""Characters by which messages are told apart."""


class Lines(logging.Formatter):
    """Formats a record as lines, each with time, level and logger.

    What callers sent may be part of a message or of an error. It can neither steer the terminal nor
    begin a line that looks like a record: the lines of a traceback are marked with a bar.
    """

    def format(self, record: logging.LogRecord) -> str:
        """The lines, without a last newline."""
        begins = f"{self.formatTime(record)} {record.levelname} {record.name}:"
        return "\n".join(f"{begins} {harmless(line)}" for line in self._lines(record))

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802 - logging's
        """The time in UTC, as 2026-01-31T09:30:00.123Z."""
        seconds = time.strftime(datefmt or "%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        return f"{seconds}.{int(record.msecs):03d}Z"

    def _lines(self, record: logging.LogRecord) -> Iterator[str]:
        more = getattr(record, "held_back", 0)
        yield record.getMessage().strip() + (f" ({more} more before this one)" if more else "")
        if record.exc_info:
            yield from (f"| {line}" for line in self.formatException(record.exc_info).splitlines())


class OncePerMinute(logging.Filter):
    """Lets each message through once a minute, and counts the others.

    Otherwise whoever repeats a request that is worth a line could fill the disk. Lines at DEBUG
    pass, as do those of the package `screener`, which no request causes.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._seen: dict[tuple[object, ...], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is written; `held_back` then says how many like it were not."""
        if record.levelno <= logging.DEBUG or record.name.startswith("screener."):
            return True
        now, kind = self._clock(), record.exc_info[0] if record.exc_info else None
        message = (record.name, str(record.msg)[:MOST_LETTERS], kind)
        written, held_back = self._seen.pop(message, (now - EVERY_SECONDS, 0))
        if now - written < EVERY_SECONDS:
            self._seen[message] = written, held_back + 1
            return False
        while len(self._seen) >= MOST_MESSAGES:
            del self._seen[next(iter(self._seen))]
        self._seen[message] = now, 0
        record.held_back = held_back
        return True


def log_config(level: str) -> dict[str, Any]:
    """The configuration of all loggers for a level, as `logging.config.dictConfig` takes it."""
    ours = {name: {"level": level.upper()} for name in PACKAGES}
    # uvicorn says at INFO when it starts and stops.
    served = "INFO" if level == "debug" else level.upper()
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {"once": {"()": "screener.logs.OncePerMinute"}},
        "formatters": {"lines": {"()": "screener.logs.Lines"}},
        "handlers": {
            "stderr": {
                "class": "logging.StreamHandler",
                "filters": ["once"],
                "formatter": "lines",
                "stream": "ext://sys.stderr",
            }
        },
        "root": {"level": "WARNING", "handlers": ["stderr"]},
        "loggers": {**ours, "uvicorn": {"level": served}},
    }


def configure(level: str) -> None:
    """Configure the logs of this process, unless whoever embeds it has done so."""
    if not logging.getLogger().handlers:
        dictConfig(log_config(level))
