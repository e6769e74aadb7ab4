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
OF_ACCOUNTS = {"sqlalchemy", "alembic", "anyio", "httpx"}
HELP = ("--help", "--version", "key --help", "nightly --help")
LISTS = ("key list ada@example.com", "account list", "session list")
PATTERNS = ("scan --filter rsi<50", "show MSFT")


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
    ("command", "unused"),
    [
        *((text, SERVING | NUMERICS | DATABASE) for text in HELP),
        *((text, SERVING | NUMERICS | {"alembic"}) for text in LISTS),
        *((text, OF_ACCOUNTS | SERVING | NUMERICS - {"numpy"}) for text in PATTERNS),
    ],
)
def test_a_command_loads_only_what_it_uses(data_dir: Path, command: str, unused: set[str]) -> None:
    run(data_dir, "account", "add", "ada@example.com", "--plan", "premium")

    assert loaded(data_dir, *command.split()) & unused == set()


def test_what_serves_loads_no_detector_and_no_provider() -> None:
    code = "import sys, screener.cli, screener.app, screener.serving; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "uvicorn" in done.stdout.split()
    assert {"polars", "numba", "pandas", "yfinance", "ccxt"} & set(done.stdout.split()) == set()
