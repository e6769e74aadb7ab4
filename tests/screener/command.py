"""The `screener` command: in this process where its answer is the subject, else as a process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from typer.testing import CliRunner

COMMAND = [str(Path(sys.executable).with_name("screener"))]


class Finished(NamedTuple):
    """How a command ended, and what it printed."""

    returncode: int
    stdout: str
    stderr: str


def environment(data: Path, **settings: str) -> dict[str, str]:
    """The environment of a command on a data folder."""
    return {**os.environ, "SCREENER_DATA_DIR": str(data), "COLUMNS": "200", **settings}


def run(data: Path, *arguments: str, stdin: str = "", **settings: str) -> Finished:
    """Run a command here: the code of a process, without the seconds that loading it takes.

    In a thread of its own, since the calling test may be running an event loop.
    """
    with ThreadPoolExecutor(1) as executor:
        return executor.submit(_invoke, environment(data, **settings), arguments, stdin).result()


def _invoke(settings: Mapping[str, str], arguments: tuple[str, ...], stdin: str) -> Finished:
    from screener.cli import app

    done = CliRunner().invoke(app, arguments, input=stdin, env=settings)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Finished(done.exit_code, done.stdout, done.stderr)


def run_process(data: Path, *arguments: str, **settings: str) -> Finished:
    """Run a command as a process of its own."""
    done = subprocess.run(
        [*COMMAND, *arguments],
        env=environment(data, **settings),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return Finished(done.returncode, done.stdout, done.stderr)


def check_refusal(result: Finished, words: str, code: int = 2) -> None:
    assert result.returncode == code
    assert result.stderr.startswith("screener: ")
    assert len(result.stderr.strip().splitlines()) == 1
    assert words in result.stderr
    assert "Traceback" not in result.stderr
