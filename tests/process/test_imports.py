"""What a command loads: `--help` and a list of keys do not wait for what they do not use."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.screener.command import COMMAND, run

SERVING = {"mcp", "starlette", "uvicorn", "PIL", "jinja2", "authlib"}
NUMERICS = {"numpy", "polars", "numba", "pandas", "exchange_calendars"}
DATABASE = {"sqlalchemy", "alembic", "pydantic_settings"}


def loaded(data: Path, *arguments: str) -> set[str]:
    """The packages that a command loads."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *COMMAND, *arguments],
        env={**os.environ, "SCREENER_DATA_DIR": str(data)},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    names = (line.rpartition("|")[2].strip() for line in done.stderr.splitlines())
    found = {name.partition(".")[0] for name in names}
    assert "typer" in found
    return found


@pytest.mark.parametrize(
    "arguments", [("--help",), ("--version",), ("key", "--help"), ("nightly", "--help")]
)
def test_help_and_version_load_nothing_heavy(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    assert loaded(tmp_path, *arguments) & (SERVING | NUMERICS | DATABASE) == set()


@pytest.mark.parametrize(
    "arguments", [("key", "list", "ada@example.com"), ("account", "list"), ("session", "list")]
)
def test_a_list_loads_neither_a_server_nor_a_detector(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    run(tmp_path, "account", "add", "ada@example.com", "--plan", "premium")

    assert loaded(tmp_path, *arguments) & (SERVING | NUMERICS | {"alembic"}) == set()


@pytest.mark.parametrize("arguments", [("scan", "--filter", "rsi<50"), ("show", "MSFT")])
def test_the_patterns_of_a_night_load_neither_server_nor_accounts(
    night: Path, arguments: tuple[str, ...]
) -> None:
    heavy = SERVING | NUMERICS - {"numpy"} | {"sqlalchemy", "alembic", "anyio", "httpx"}

    assert loaded(night, *arguments) & heavy == set()


def test_what_serves_loads_no_detector_and_no_provider() -> None:
    code = "import sys, screener.cli, screener.app, screener.serving; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "uvicorn" in done.stdout.split()
    assert {"polars", "numba", "pandas", "yfinance", "ccxt"} & set(done.stdout.split()) == set()
