"""A process whose parts fail: it ends with a code."""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from screener.service.supervisor import EXIT_CODE
from screener.settings.settings import load_settings
from tests.screener.process import Server, serving_process
from tests.service import Service, new_key


@contextmanager
def started(data: Path, *options: str) -> Iterator[tuple[Server, Service]]:
    """`screener serve` on a data folder, and how to call it with the key of an account."""
    with serving_process(data.parent, *options) as server:
        chosen = load_settings(data_dir=data, port=server.port)
        yield server, Service(chosen, server.url, new_key(chosen))


def change(data: Path, statement: str) -> None:
    """Change the account database as an operator does in a shell."""
    with closing(sqlite3.connect(data / "accounts.sqlite", isolation_level=None)) as database:
        database.execute(statement)


def test_a_loop_that_cannot_run_ends_the_process(data_dir: Path) -> None:
    with started(data_dir) as (server, live):
        failing = "BEFORE INSERT ON usage BEGIN INSERT INTO gone VALUES (1); END"
        change(data_dir, f"CREATE TRIGGER broken {failing}")
        live.get("/me").raise_for_status()
        server.process.join(90)

    assert server.process.exitcode == EXIT_CODE
    told = server.stderr.read_text()
    assert "cannot run; the process ends" in told
    assert "no such table: main.gone" in told


@pytest.mark.engine  # the parent notices the death of a worker only after a minute
def test_a_worker_that_cannot_start_ends_the_service_with_a_code(data_dir: Path) -> None:
    with started(data_dir, "--workers", "2") as (server, _):
        change(data_dir, "UPDATE alembic_version SET version_num = '9999'")
        os.kill(min(server.workers()), signal.SIGKILL)
        server.process.join(90)

    assert server.process.exitcode == EXIT_CODE
