"""The `screener` command, run as people run it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

COMMAND = [str(Path(sys.executable).with_name("screener"))]


def run(
    data: Path, *arguments: str, stdin: str = "", **settings: str
) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "SCREENER_DATA_DIR": str(data), "COLUMNS": "200", **settings}
    return subprocess.run(
        [*COMMAND, *arguments],
        env=environment,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def check_refusal(result: subprocess.CompletedProcess[str], words: str) -> None:
    assert result.returncode == 2
    assert result.stderr.startswith("screener: ")
    assert len(result.stderr.strip().splitlines()) == 1
    assert words in result.stderr
    assert "Traceback" not in result.stderr
