"""The `screener` command: in this process where its answer is the subject, else as a process."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from typer.testing import CliRunner

from tests.zygote import start

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


def succeed(data: Path, *arguments: str, **options: str) -> Finished:
    """Run a command here that must succeed."""
    done = run(data, *arguments, **options)
    assert done.returncode == 0, done.stderr
    return done


def _invoke(settings: Mapping[str, str], arguments: tuple[str, ...], stdin: str) -> Finished:
    from screener.commands.cli import app

    done = CliRunner().invoke(app, arguments, input=stdin, env=settings, prog_name="screener")
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Finished(done.exit_code, done.stdout, done.stderr)


def run_process(data: Path, *arguments: str, **settings: str) -> Finished:
    """Run a command as a process of its own."""
    with TemporaryDirectory() as folder:
        stdout, stderr = Path(folder, "stdout"), Path(folder, "stderr")
        process = start(
            *arguments, environment=environment(data, **settings), stdout=stdout, stderr=stderr
        )
        process.join(120)
        assert process.exitcode is not None, "the command did not end in time"
        return Finished(process.exitcode, stdout.read_text(), stderr.read_text())


def check_refusal(result: Finished, words: str, code: int = 2) -> None:
    assert result.returncode == code
    assert result.stderr.startswith("screener: ")
    assert len(result.stderr.strip().splitlines()) == 1
    assert words in result.stderr
    assert "Traceback" not in result.stderr
