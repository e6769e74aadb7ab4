"""Commits are seen in shared memory: each one, from whichever connection or process it comes."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from store.commits import Commits


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    """A database in WAL mode, open as long as the test."""
    path = tmp_path / "data.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("PRAGMA journal_mode = WAL; CREATE TABLE t (x)")
        yield path


def write(path: Path, statement: str = "INSERT INTO t VALUES (1)") -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(statement)


def descriptors() -> int:
    """How many are open; 0 where that cannot be told."""
    return sum(1 for _ in Path("/proc/self/fd").glob("*"))


def test_the_mark_stays_until_something_is_committed(path: Path) -> None:
    commits = Commits(path)
    before = commits.mark()
    with closing(sqlite3.connect(path)) as reader:
        reader.execute("SELECT * FROM t").fetchall()

    assert before is not None
    assert commits.mark() == before
    write(path)
    assert commits.mark() != before


def test_every_commit_changes_it_again(path: Path) -> None:
    commits, marks = Commits(path), set()
    for _ in range(50):
        write(path)
        marks.add(commits.mark())
        write(path, "PRAGMA wal_checkpoint(TRUNCATE)")

    assert len(marks) == 50


def test_another_process_is_seen_too(path: Path) -> None:
    commits = Commits(path)
    before = commits.mark()
    code = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('DELETE FROM t')"
    subprocess.run([sys.executable, "-c", f"{code}; c.commit()", str(path)], check=True)

    assert commits.mark() != before


def test_looking_takes_no_lock_away_from_sqlite(path: Path) -> None:
    """POSIX drops a process's locks on a file with any descriptor of it that is closed."""
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        for _ in range(3):
            Commits(path).mark()
        code = (
            "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], timeout=0)\n"
            "try: c.execute('BEGIN IMMEDIATE')\n"
            "except sqlite3.OperationalError as error: print(error)"
        )
        command = [sys.executable, "-c", code, str(path)]
        found = subprocess.run(command, check=True, capture_output=True, text=True)

    assert found.stdout.strip() == "database is locked"


def test_the_descriptors_of_deleted_databases_are_closed(tmp_path: Path) -> None:
    held = descriptors()
    for number in range(30):
        path = tmp_path / f"{number}.sqlite"
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript("PRAGMA journal_mode = WAL; CREATE TABLE t (x)")
            assert Commits(path).mark() is not None

    assert descriptors() < held + 10


@pytest.mark.parametrize("content", [None, b"", b"\0" * 32_768])
def test_without_a_wal_index_nothing_can_be_told(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "data.sqlite"
    if content is not None:
        path.with_name("data.sqlite-shm").write_bytes(content)

    assert Commits(path).mark() is None
