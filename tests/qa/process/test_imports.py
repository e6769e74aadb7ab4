"""What a command loads: `--help` and a list of keys do not wait for what they do not use."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.agent import message
from tests.screener.command import COMMAND, environment, run
from tests.screener.process import free_port

SERVING = {"mcp", "starlette", "uvicorn", "PIL", "jinja2", "authlib"}
NUMERICS = {"numpy", "polars", "numba", "pandas", "exchange_calendars"}
DATABASE = {"sqlalchemy", "alembic", "pydantic_settings"}
OF_ACCOUNTS = {"sqlalchemy", "alembic", "anyio", "httpx"}
OF_OTHERS = {
    # what makes nights, or tells of them
    *("polars", "numba", "pandas", "exchange_calendars", "yfinance", "ccxt", "apprise"),
    # what a command prints with, and what migrates
    *("rich", "alembic"),
    # what draws, which is a process of its own
    "PIL",
    # what another database, another store or another count of calls needs
    *("sqlalchemy.dialects.postgresql", "asyncpg", "obstore", "redis"),
    # what pages of Markdown, misspelt names and signed tokens need
    *("markdown_it", "rapidfuzz", "joserfc"),
}
HELP = ("--help", "--version", "key --help", "nightly --help")
LISTS = ("key list ada@example.com", "account list", "session list")
PATTERNS = ("scan --filter rsi<50", "show MSFT")


def loaded(data: Path, *arguments: str) -> set[str]:
    """The packages that a command loads."""
    command = [sys.executable, "-X", "importtime", *COMMAND, *arguments]
    done = subprocess.run(
        command, env=environment(data), capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return {name.partition(".")[0] for name in _imported(done.stderr)}


def _imported(timed: str) -> set[str]:
    """The modules of a table of import times."""
    names = {line.rpartition("|")[2].strip() for line in timed.splitlines()}
    assert "typer" in names
    return names


@pytest.mark.parametrize(
    ("command", "unused"),
    [
        *((text, SERVING | NUMERICS | DATABASE) for text in HELP),
        *((text, SERVING | NUMERICS | {"alembic"}) for text in LISTS),
        *((text, OF_ACCOUNTS | SERVING | NUMERICS - {"numpy"}) for text in PATTERNS),
        ("notify", OF_ACCOUNTS | SERVING | NUMERICS - {"numpy"}),
        ("doctor", SERVING - {"authlib"} | NUMERICS - {"numpy"} | {"alembic", "httpx2"}),
    ],
)
def test_a_command_loads_only_what_it_uses(data_dir: Path, command: str, unused: set[str]) -> None:
    run(data_dir, "account", "add", "ada@example.com", "--plan", "premium")

    assert loaded(data_dir, *command.split()) & unused == set()


@pytest.mark.parametrize(
    ("modules", "unused"),
    [
        ("screener.__main__, screener.server.serving", {"typer", *OF_OTHERS}),
        ("screener.__main__, mcp_server.drawing.chart", {"typer", "pydantic"}),
    ],
)
def test_a_process_that_a_service_starts_holds_nothing_that_others_use(
    modules: str, unused: set[str]
) -> None:
    code = f"import sys, {modules}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert set(modules.split(", ")) <= set(done.stdout.split())
    assert unused & set(done.stdout.split()) == set()


def test_a_service_that_has_answered_on_each_surface_holds_nothing_that_others_use(
    data_dir: Path, tmp_path: Path
) -> None:
    run(data_dir, "account", "list")  # makes the tables, as the first start does
    port, log = free_port(), tmp_path / "log.txt"
    command = [sys.executable, "-X", "importtime", *COMMAND, "serve", "--port", str(port)]
    tool = message("tools/call", name="get_ticker_patterns", arguments={"symbol": "MSFT"})
    with (
        log.open("w") as stderr,
        subprocess.Popen(command, env=environment(data_dir), stderr=stderr) as server,
        httpx.Client(
            base_url=f"http://127.0.0.1:{port}",
            transport=httpx.HTTPTransport(retries=8),  # until it listens
            timeout=60,
        ) as client,
    ):
        try:
            for path in ("/llms.txt", "/api/v1/demo/AAPL", "/", "/sign-in"):
                client.get(path).raise_for_status()
            called = client.post("/mcp/demo", json=tool)
        finally:
            server.send_signal(signal.SIGINT)

    assert "result" in called.json()
    assert OF_OTHERS & _imported(log.read_text()) == set()
