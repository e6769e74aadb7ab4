"""The nightly as a process: a wait that somebody ends."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

from tests.screener import command
from tests.screener.process import until
from tests.zygote import start


def test_a_wait_says_until_when_and_can_be_interrupted(tmp_path: Path) -> None:
    data, errors = tmp_path / "data", tmp_path / "stderr"
    words = ("nightly", "--wait-for-session", "--settle-minutes", "99999999")
    given = command.environment(data)
    process = start(*words, environment=given, stdout=tmp_path / "stdout", stderr=errors)
    until(lambda: errors.exists() and "\n" in errors.read_text())
    assert process.pid is not None
    os.kill(process.pid, signal.SIGINT)
    process.join(60)

    assert re.match(r"Waiting until \d{4}-\d\d-\d\d \d\d:\d\d UTC", errors.read_text())
    assert process.exitcode not in (0, 2)
    assert not [path for path in data.rglob("*") if path.is_file()]
