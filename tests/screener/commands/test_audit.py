"""The audit: a secret that somebody adds is found, and its text is not repeated."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests import audit

# Put together here, because this file is scanned too.
KEY = "-----BEGIN RSA " + "PRIVATE KEY-----"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository of enough files, with the baseline of this one."""
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    for number in range(audit.MIN_FILES):
        (tmp_path / f"file{number}.py").write_text("a = 1\n")
    (tmp_path / audit.BASELINE).write_text((audit.ROOT / audit.BASELINE).read_text())
    return tmp_path


def test_a_private_key_is_found(checkout: Path) -> None:
    (checkout / "file7.py").write_text(f'a = """{KEY}\nMIIE\n"""\n')
    subprocess.run(["git", "-C", str(checkout), "add", "."], check=True)

    (line,) = audit.secrets(checkout)

    assert line.startswith("file7.py:1: Private Key")


def test_a_scan_of_no_files_is_not_believed(checkout: Path) -> None:
    (line,) = audit.secrets(checkout)

    assert "files were found" in line
