"""`screener db`: what a check finds, and schemas that are not known."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.screener.command import check_refusal, run


def change(data: Path, statement: str, *values: str) -> None:
    with closing(sqlite3.connect(data / "accounts.sqlite")) as connection, connection:
        connection.execute(statement, values)


def test_a_check_asks_for_tables_and_finds_rows_that_belong_to_nothing(tmp_path: Path) -> None:
    empty = run(tmp_path, "db", "check")
    made = run(tmp_path, "db", "upgrade")
    again = run(tmp_path, "db", "upgrade")
    sound = run(tmp_path, "db", "check")
    run(tmp_path, "account", "add", "ada@example.com", "--plan", "premium")
    run(tmp_path, "key", "create", "ada@example.com", "--name", "laptop")
    change(tmp_path, "DELETE FROM accounts")
    dangling = run(tmp_path, "db", "check")

    assert (empty.returncode, "there are no tables yet" in empty.stderr) == (1, True)
    assert "went from schema none to" in made.stdout
    assert "already" in again.stdout
    assert sound.returncode == 0, sound.stderr
    assert dangling.returncode == 1
    assert "rows of keys without their accounts: 1" in dangling.stderr


@pytest.mark.parametrize(
    ("revision", "words"), [("0999", "run the newer version"), ("0006", "an earlier version")]
)
def test_a_schema_that_is_not_known_is_refused_by_every_command_that_uses_it(
    tmp_path: Path, revision: str, words: str
) -> None:
    run(tmp_path, "db", "upgrade")
    change(tmp_path, "UPDATE alembic_version SET version_num = ?", revision)

    assert words in run(tmp_path, "db", "check").stderr
    check_refusal(run(tmp_path, "db", "upgrade"), words)
    check_refusal(run(tmp_path, "backup", str(tmp_path / "b")), words)
