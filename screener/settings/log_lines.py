"""Log lines: structlog's processors that make a line, or a JSON object, of a record.

The records are those of the standard library (structlog's `ProcessorFormatter`), so a library's
lines have the same form as ours.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Collection, Mapping, MutableMapping
from typing import Any

from structlog.processors import JSONRenderer, format_exc_info
from structlog.stdlib import ExtraAdder, ProcessorFormatter, add_log_level, add_logger_name

from store.wire.words import harmless, short
from telemetry.request import current

LONGEST_VALUE = 200
"""Characters of a field."""

PLAIN = re.compile(r"[\w.:/+-]+")
"""A value that needs no quotes."""

NAMED = {"event", "exc_info", "stack_info", "held_back", "message", "asctime"}
"""What is told of a record in its own way, and is no field."""

Event = MutableMapping[str, Any]


def formatter_of(own: Collection[str], *, as_json: bool) -> logging.Formatter:
    """The formatter of lines for people, or of JSON; `own` names the loggers, or what their names
    begin with, whose fields are written.
    """
    about = (add_logger_name, add_log_level, add_time, add_request, Fields(own))
    made_safe = (format_exc_info, make_harmless, ProcessorFormatter.remove_processors_meta)
    render = JSONRenderer() if as_json else render_lines
    return ProcessorFormatter(foreign_pre_chain=about, processors=(*made_safe, render))


def add_time(_logger: object, _method: str, event: Event) -> Event:
    """Add the time of the record in UTC, as 2026-01-31T09:30:00.123Z."""
    record = event["_record"]
    seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
    event["timestamp"] = f"{seconds}.{int(record.msecs):03d}Z"
    return event


def add_request(_logger: object, _method: str, event: Event) -> Event:
    """Add the id of the request under way, if there is one."""
    request = current.get()
    if request is not None:
        event["request_id"] = request.id
    return event


class Fields:
    """Adds how many lines like this were held back, and what our own loggers got as `extra`.

    A library's fields are left out: they may hold anything.
    """

    def __init__(self, own: Collection[str]) -> None:
        self._own = own

    def __call__(self, logger: Any, method: str, event: Event) -> Event:  # noqa: ANN401 - as structlog has it
        record = event["_record"]
        if held_back := getattr(record, "held_back", 0):
            event["held_back"] = held_back
        if record.name.partition(".")[0] in self._own:
            given = ExtraAdder()(logger, method, {"_record": record})
            names = (name for name in given if name not in NAMED and name not in event)
            event.update({name: _bounded(given[name]) for name in names})
        return event


def _bounded(value: object) -> object:
    is_number = value is None or isinstance(value, int | float)
    return value if is_number else short(str(value), LONGEST_VALUE)


def make_harmless(_logger: object, _method: str, event: Event) -> Event:
    """Make the message one line and each line of a traceback harmless."""
    event["event"] = harmless(event["event"].strip())
    if "exception" in event:
        event["exception"] = "\n".join(map(harmless, event["exception"].splitlines()))
    return event


def render_lines(_logger: object, _method: str, event: Event) -> str:
    """The lines for people; each begins with the time, the level, the logger and the request."""
    request = f" [{event['request_id']}]" if "request_id" in event else ""
    begins = f"{event['timestamp']} {event['level'].upper()} {event['logger']}{request}:"
    more = f" ({event['held_back']} more before this one)" if "held_back" in event else ""
    trace = [f"| {line}" for line in event.get("exception", "").splitlines()]
    lines = (f"{event['event']}{_fields(event)}{more}", *trace)
    return "\n".join(f"{begins} {line}" for line in lines)


TOLD = {"timestamp", "level", "logger", "request_id", "event", "exception", "held_back"}
"""What has a place of its own in a line."""


def _fields(event: Mapping[str, Any]) -> str:
    told = ((name, str(value)) for name, value in event.items() if name not in TOLD)
    return "".join(
        f" {name}={value if PLAIN.fullmatch(value) else repr(value)}" for name, value in told
    )
