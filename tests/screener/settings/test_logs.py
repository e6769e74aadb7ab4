"""The lines of the log: each has time, level and logger, and nobody can flood or forge them."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from types import ModuleType

import pytest

from mcp_server.limits import redis_counting
from screener.settings.logs import (
    EVERY_SECONDS,
    MAX_MESSAGES,
    LineFormatter,
    OncePerMinute,
    log_config,
)
from screener.telemetry.request import Request, current
from store.database import changes
from store.remote import follower
from tests.screener.process import LINE


class Clock:
    """A monotonic clock that tests set."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def record(message: object, *args: object, name: str = "oauth.bearer") -> logging.LogRecord:
    return logging.LogRecord(name, logging.WARNING, "", 0, message, args, None)


def fail(text: str) -> None:
    raise ValueError(text)


def test_a_line_says_when_in_utc_how_grave_and_where_to_people_and_as_json() -> None:
    said = record("%s is away", "It")
    said.created, said.msecs = 1_769_851_800.0, 123.0
    assert (
        LineFormatter().format(said) == "2026-01-31T09:30:00.123Z WARNING oauth.bearer: It is away"
    )
    said.held_back = 3

    assert json.loads(LineFormatter("json").format(said)) == {
        "timestamp": "2026-01-31T09:30:00.123Z",
        "level": "warning",
        "logger": "oauth.bearer",
        "event": "It is away",
        "held_back": 3,
    }


def test_our_fields_are_written_in_both_formats_and_those_of_libraries_are_not() -> None:
    fields = {"rows": 3, "kind": "a kind\n2026 of \x1b its own", "event": "other", "missing": None}
    ours, library = record("Removed"), record("Removed", name="uvicorn.error")
    for said in (ours, library):
        vars(said).update(fields)
    (line,) = LineFormatter().format(ours).split("\n")
    told = json.loads(LineFormatter("json").format(ours))

    assert line.endswith(
        ": Removed rows=3 kind='a kind 2026 of \N{REPLACEMENT CHARACTER} its own' missing=None"
    )
    assert (told["event"], told["rows"], told["missing"]) == ("Removed", 3, None)
    assert LineFormatter().format(library).endswith(": Removed")
    assert "rows" not in json.loads(LineFormatter("json").format(library))


def test_an_error_that_is_none_adds_no_line() -> None:
    """`log.exception` outside of a handler, or `exc_info=True` where nothing was raised."""
    nothing = record("It ended")
    nothing.exc_info = (None, None, None)

    assert LineFormatter().format(nothing).endswith(": It ended")


def test_a_field_is_bounded() -> None:
    said = record("Read")
    vars(said).update(what="x" * 10_000)

    assert len(LineFormatter().format(said)) < 300


def test_a_line_within_a_request_carries_its_id_on_every_line() -> None:
    token = current.set(Request("abc-1"))
    try:
        fail("away")
    except ValueError:
        failed = record("It failed")
        failed.exc_info = sys.exc_info()
    lines, told = (
        LineFormatter().format(failed).split("\n"),
        json.loads(LineFormatter("json").format(failed)),
    )
    current.reset(token)

    assert len(lines) > 2
    assert all(" oauth.bearer [abc-1]: " in line for line in lines)
    assert told["request_id"] == "abc-1"
    assert told["exception"].endswith("ValueError: away")
    assert "request_id" not in json.loads(LineFormatter("json").format(record("Later")))


def test_what_strangers_send_cannot_begin_a_line_or_steer_the_terminal() -> None:
    forged = '\x1b[2J\x9b2J\u2028\n2026-01-31T09:30:00.123Z ERROR store.audit: {"event": 1}\r\u202e'
    try:
        fail(forged)
    except ValueError:
        failed = record("%s failed", forged)
        failed.exc_info = sys.exc_info()
    lines, as_json = (
        LineFormatter().format(failed).split("\n"),
        LineFormatter("json").format(failed),
    )
    told = json.loads(as_json)

    assert all(LINE.fullmatch(line) and line.isprintable() for line in lines)
    assert all(" WARNING oauth.bearer: | " in line for line in lines[1:])
    assert any("ValueError" in line for line in lines[1:])
    assert as_json.isascii()
    assert "\n" not in as_json
    assert told["event"].isprintable()
    assert told["exception"].replace("\n", "").isprintable()


def test_a_message_is_written_once_a_minute_with_the_number_of_the_others() -> None:
    clock = Clock()
    once = OncePerMinute(clock)
    written = []
    for seconds in range(int(2 * EVERY_SECONDS) + 1):
        clock.now = float(seconds)
        said = record("Registrations from %s are refused", f"192.0.2.{seconds}")
        if once.filter(said):
            written.append(LineFormatter().format(said).partition(": ")[2])

    assert written == [
        "Registrations from 192.0.2.0 are refused",
        "Registrations from 192.0.2.60 are refused (59 more before this one)",
        "Registrations from 192.0.2.120 are refused (59 more before this one)",
    ]
    assert once.filter(record("Another message"))
    assert all(once.filter(record("It failed", name="store.accounts.retention")) for _ in range(3))


@pytest.mark.parametrize("part", [follower, redis_counting, changes])
def test_each_change_of_a_part_that_several_machines_share_is_written(part: ModuleType) -> None:
    """Otherwise the last line of an outage could say that all is well again."""
    once = OncePerMinute(Clock())

    assert all(once.filter(record("It is away: %s", why, name=part.__name__)) for why in "ab")


def test_messages_that_differ_each_time_do_not_fill_the_memory() -> None:
    once = OncePerMinute(Clock())
    for number in range(2 * MAX_MESSAGES):
        once.filter(record({"number": number}))

    assert len(once._seen) <= MAX_MESSAGES


@pytest.mark.parametrize("level", ["debug", "info", "warning", "error"])
def test_our_loggers_obey_the_level_and_libraries_do_not(level: str) -> None:
    code = (
        "import json, logging, logging.config, sys\n"
        "from screener.settings.logs import configure\n"
        f"configure({level!r})\n"
        "names = ['store.accounts.tokens', 'oauth.bearer', 'screener.web.site',\n"
        "    'screener.nightly.pool',\n"
        "    'screener.service.app',\n"
        "    'uvicorn.error', 'authlib.oauth2', 'httpcore.http11', 'aiosqlite', 'asyncio']\n"
        "print(json.dumps({n: logging.getLogger(n).getEffectiveLevel() for n in names}))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    levels = json.loads(done.stdout)

    chosen = getattr(logging, level.upper())
    assert [levels.pop(name) for name in list(levels)[:5]] == [chosen] * 5
    assert levels.pop("uvicorn.error") == max(chosen, logging.INFO)
    assert set(levels.values()) == {logging.WARNING}


def test_a_program_that_has_handlers_keeps_them() -> None:
    from screener.settings.logs import configure

    before = list(logging.getLogger().handlers)
    configure("debug")

    assert logging.getLogger().handlers == before
    assert "stderr" in log_config("debug")["handlers"]
