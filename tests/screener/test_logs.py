"""The lines of the log: each has time, level and logger, and nobody can flood or forge them."""

from __future__ import annotations

import json
import logging
import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from screener.logs import EVERY_SECONDS, MOST_MESSAGES, Lines, OncePerMinute, log_config
from tests.screener.process import serving_process

LINE = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (DEBUG|INFO|WARNING|ERROR|CRITICAL) [a-z_.]+"
    r"( \[[0-9a-f]{16}\])?: .+"
)


class Clock:
    """A monotonic clock that tests set."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def record(message: object, *args: object, name: str = "oauth.bearer") -> logging.LogRecord:
    return logging.LogRecord(name, logging.WARNING, "", 0, message, args, None)


def fail(text: str) -> None:
    raise ValueError(text)


def test_a_line_says_when_in_utc_how_grave_and_where() -> None:
    said = record("%s is away", "It")
    said.created, said.msecs = 1_769_851_800.0, 123.0

    assert Lines().format(said) == "2026-01-31T09:30:00.123Z WARNING oauth.bearer: It is away"


def test_what_strangers_send_cannot_begin_a_line_or_steer_the_terminal() -> None:
    forged = "\x1b[2J\n2026-01-31T09:30:00.123Z ERROR store.audit: forged"
    try:
        fail(forged)
    except ValueError:
        failed = record("%s failed", forged)
        failed.exc_info = sys.exc_info()
    first, *rest = Lines().format(failed).split("\n")

    assert all(LINE.fullmatch(line) for line in (first, *rest))
    assert "\x1b" not in "".join((first, *rest))
    assert all(" WARNING oauth.bearer: | " in line for line in rest)
    assert any("ValueError" in line for line in rest)


def test_a_message_is_written_once_a_minute_with_the_number_of_the_others() -> None:
    clock = Clock()
    once = OncePerMinute(clock)
    written = []
    for seconds in range(int(2 * EVERY_SECONDS) + 1):
        clock.now = float(seconds)
        said = record("Registrations from %s are refused", f"192.0.2.{seconds}")
        if once.filter(said):
            written.append(Lines().format(said).partition(": ")[2])

    assert written == [
        "Registrations from 192.0.2.0 are refused",
        "Registrations from 192.0.2.60 are refused (59 more before this one)",
        "Registrations from 192.0.2.120 are refused (59 more before this one)",
    ]
    assert once.filter(record("Another message"))
    assert all(once.filter(record("It failed", name="screener.sweeping")) for _ in range(3))


def test_messages_that_differ_each_time_do_not_fill_the_memory() -> None:
    once = OncePerMinute(Clock())
    for number in range(2 * MOST_MESSAGES):
        once.filter(record({"number": number}))

    assert len(once._seen) <= MOST_MESSAGES


@pytest.mark.parametrize("level", ["debug", "info", "warning", "error"])
def test_our_loggers_obey_the_level_and_libraries_do_not(level: str) -> None:
    code = (
        "import json, logging, logging.config, sys\n"
        "from screener.logs import configure\n"
        f"configure({level!r})\n"
        "names = ['store.tokens', 'oauth.bearer', 'web', 'nightly.pool', 'screener.app',\n"
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
    from screener.logs import configure

    before = list(logging.getLogger().handlers)
    configure("debug")

    assert logging.getLogger().handlers == before
    assert "stderr" in log_config("debug")["handlers"]


UPGRADE = {"Connection": "Upgrade", "Upgrade": "h2c"}


@pytest.mark.parametrize("workers", [1, 2])
def test_every_line_of_a_server_is_a_line_of_the_log_and_repeats_are_held_back(
    tmp_path: Path, workers: int
) -> None:
    app = {"redirect_uris": ["http://127.0.0.1/callback"]}
    with serving_process(
        tmp_path,
        "--workers",
        str(workers),
        SCREENER_LOG_LEVEL="info",
        SCREENER_REGISTRATIONS_PER_MINUTE="1",
    ) as server:
        for _ in range(10):
            httpx.post(f"{server.url}/oauth/register", json=app, timeout=30)
            httpx.get(server.url, headers=UPGRADE, timeout=30)
    greeting, *lines = server.stderr.read_text().splitlines()

    assert greeting == f"Serving {server.url}"
    assert [line for line in lines if not LINE.fullmatch(line)] == []
    assert 1 <= sum("are refused for now" in line for line in lines) <= workers
    assert 1 <= sum("Unsupported upgrade request" in line for line in lines) <= workers
    assert any("INFO uvicorn.error: Application startup complete." in line for line in lines)
