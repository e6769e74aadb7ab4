"""What a process writes on its streams: lines of the log, and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from screener.settings.settings import Settings
from tests.screener.process import LINE, Server, serving_process
from tests.service import new_key


@pytest.mark.parametrize("workers", [1, 2])
def test_every_line_of_a_server_is_a_line_of_the_log_and_repeats_are_held_back(
    tmp_path: Path, workers: int
) -> None:
    app = {"redirect_uris": ["http://127.0.0.1/callback"]}
    with serving_process(
        tmp_path,
        "--workers",
        str(workers),
        SCREENER_LOG_LEVEL="debug",
        SCREENER_REGISTRATIONS_PER_MINUTE="1",
    ) as server:
        for _ in range(10):
            httpx.post(f"{server.url}/oauth/register", json=app, timeout=30)
    greeting, *lines = server.stderr.read_text().splitlines()

    assert greeting == f"Serving {server.url}"
    assert [line for line in lines if not LINE.fullmatch(line)] == []
    assert 1 <= sum("are refused for now" in line for line in lines) <= workers
    assert any("INFO uvicorn.error: Application startup complete." in line for line in lines)
    assert not any(" access" in line for line in lines)


def objects(server: Server) -> list[dict[str, Any]]:
    """The lines of a log in JSON, behind the words of the command."""
    return [json.loads(line) for line in server.stderr.read_text().splitlines()[1:]]


@pytest.mark.parametrize("workers", [1, 2])
def test_every_line_of_a_server_is_json_if_that_is_wanted(tmp_path: Path, workers: int) -> None:
    options = {"SCREENER_LOG_FORMAT": "json", "SCREENER_LOG_LEVEL": "debug"}
    key = "ps_live_" + "q" * 48
    with serving_process(tmp_path, "--workers", str(workers), **options) as server:
        for _ in range(3):
            headers = {"Authorization": f"Bearer {key}"}
            httpx.get(f"{server.url}/api/v1/me", headers=headers, timeout=30)
    told = objects(server)

    assert {"timestamp", "level", "logger", "event"} <= set.intersection(*map(set, told))
    assert "Application startup complete." in {one["event"] for one in told}
    assert not {key for key in set().union(*told) if key.startswith("color")}
    assert key not in server.stderr.read_text()


def test_the_access_log_has_a_line_for_each_request_and_nothing_of_who_sent_it(
    data_dir: Path,
) -> None:
    key = new_key(Settings(data_dir=data_dir))
    options = {"SCREENER_LOG_FORMAT": "json", "SCREENER_ACCESS_LOG": "true"}
    keyed = {"Authorization": f"Bearer {key}", "X-Request-Id": "proxy-1"}
    with serving_process(data_dir.parent, **options) as server:
        for _ in range(3):
            answer = httpx.get(f"{server.url}/api/v1/scan?limit=7", headers=keyed)
            assert answer.headers["x-request-id"] == "proxy-1"
        for path in ("/health/live", "/health/ready", "/api/v1/tickers/ZZZ/patterns"):
            httpx.get(server.url + path, headers=keyed | {"X-Request-Id": "a b\tc"})
        httpx.get(f"{server.url}/nowhere?secret=1")
    lines = [one for one in objects(server) if one["logger"] == "access"]
    calls = [one for one in lines if one.get("surface") == "rest"]

    assert [one["operation"] for one in calls][:3] == ["scan"] * 3
    assert {(one["code"], one["request_id"]) for one in calls[:3]} == {("ok", "proxy-1")}
    assert (calls[3]["code"], len(calls[3]["request_id"])) == ("ticker_not_tracked", 16)
    assert {one["key_prefix"] for one in calls} == {key[:16]}
    assert all(one["ms"] > 0 for one in lines)
    assert lines[-1]["code"] == "404"
    assert "key_prefix" not in lines[-1]
    written = server.stderr.read_text().partition("\n")[2]
    strangers = ("127.0.0.1", "limit=7", "secret", "nowhere", "ZZZ", "health", "python-httpx")
    for never in (key, *strangers):
        assert never not in written


def test_a_command_logs_in_the_same_format_on_stderr(tmp_path: Path) -> None:
    code = (
        "import logging\n"
        "from screener.settings.console import settings\n"
        "settings()\n"
        "logging.getLogger('screener.nightly.bars').warning('Read', extra={'rows': 3})\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "SCREENER_LOG_FORMAT": "json", "SCREENER_DATA_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == ""
    assert json.loads(done.stderr)["rows"] == 3
