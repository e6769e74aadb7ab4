"""The command `screener` of a server: it reads the file of settings as systemd does."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.deploy.proxies import replaced
from tests.node import ROOT

COMMAND = ROOT / "deploy" / "screener"
PATH = {"PATH": "/usr/bin:/bin"}


def settings_of(folder: Path, text: str, **already: str) -> dict[str, str]:
    """What the program is started with, by a file of settings."""
    (folder / "env").write_text(text)
    program = "runuser -u screener -- /opt/pattern-screener/.venv/bin/screener"
    changes = {"/etc/pattern-screener/env": str(folder / "env"), program: "env"}
    script = replaced(COMMAND.read_text(), changes)
    done = subprocess.run(
        ["sh", "-c", script], capture_output=True, text=True, check=True, env=PATH | already
    )
    return dict(line.split("=", 1) for line in done.stdout.splitlines())


def test_what_is_set_already_stays(tmp_path: Path) -> None:
    text = "SCREENER_DATA_DIR=/var/lib/pattern-screener\nSCREENER_DATABASE_URL=postgresql://a\n"

    found = settings_of(tmp_path, text, SCREENER_DATA_DIR="/srv/drill", SCREENER_DATABASE_URL="")

    assert found["SCREENER_DATA_DIR"] == "/srv/drill"
    assert found["SCREENER_DATABASE_URL"] == ""


def test_nothing_in_the_file_is_run_or_expanded(tmp_path: Path) -> None:
    made = tmp_path / "made"
    text = f"A=`touch {made}`\nB=$(touch {made})\nC=a$HOME;touch {made}\ntouch {made}\n"

    found = settings_of(tmp_path, text)

    assert not made.exists()
    assert found["B"] == f"$(touch {made})"
    assert found["C"] == f"a$HOME;touch {made}"


def test_a_value_loses_its_quotes_and_the_last_line_needs_no_end(tmp_path: Path) -> None:
    text = "# A=1\n\nB=\"Example Ltd, a@b.example\"  \nC='p$w=d'\n; D=1\nE=last"

    found = settings_of(tmp_path, text)

    assert {name: found[name] for name in "ABCDE" if name in found} == {
        "B": "Example Ltd, a@b.example",
        "C": "p$w=d",
        "E": "last",
    }


def test_the_shipped_file_is_read(tmp_path: Path) -> None:
    found = settings_of(tmp_path, (ROOT / "deploy" / "env").read_text())

    assert found["SCREENER_OPERATOR"] == "Example Ltd, screener@example.com"
    assert found["BARS"] == "sample"
