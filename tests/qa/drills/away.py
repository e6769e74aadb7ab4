"""The account database and the disk: locked, away, full, and not to be written."""

from __future__ import annotations

import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from tests.postgres import fresh_database, postgres_bin, running_server
from tests.qa.drills.drill import CannotError, Drill
from tests.qa.drills.server import Server, numbers
from tests.screener.command import run_process
from tests.screener.process import until
from tests.service import apart

LOCKED, AWAY, FULL = 10.0, 30.0, 8.0
"""Seconds for which a fault lasts."""
BEFORE = 1.5
"""Seconds for which the clients write before it."""
DISK = 24 * 1024 * 1024
KEY = ("key", "create", "charts@example.com", "--name", "x")


def database_locked(drill: Drill) -> None:
    """Another process holds the write lock of SQLite."""
    drill.made = f"once for {LOCKED:.0f} s, by another connection's BEGIN IMMEDIATE"
    with (
        drill.server().running() as server,
        _crowded(drill, server),
        closing(sqlite3.connect(server.folder / "accounts.sqlite", timeout=30)) as other,
    ):
        other.execute("BEGIN IMMEDIATE")
        time.sleep(LOCKED)
        other.rollback()


def database_away(drill: Drill) -> None:
    """PostgreSQL is stopped as a crash would, and started again."""
    if postgres_bin() is None:
        raise CannotError("PostgreSQL is not installed")
    drill.made = f"once, stopped for {AWAY:.0f} s as by a crash, then started"
    with running_server() as postgres:
        url = apart(lambda: fresh_database(postgres.url, "away"))
        server = drill.server(database_url=url)
        with server.running(), _crowded(drill, server), postgres.stopped():
            time.sleep(AWAY)


@contextmanager
def _crowded(drill: Drill, server: Server) -> Iterator[None]:
    """Clients write before and within the block; then until somebody can sign up and call."""
    crowd = drill.crowd(server)
    with crowd:
        time.sleep(BEFORE)
        yield
        with drill.timed():
            until(lambda: server.answers("/api/v1/me", _new_key(server)))
    drill.take(crowd)


def _new_key(server: Server) -> str:
    return server.key(f"well{next(numbers)}@example.com")


@contextmanager
def disk(folder: Path, size: int = DISK) -> Iterator[Path]:
    """A small file system of its own.

    Raises:
        CannotError: nobody may mount one here.
    """
    folder.mkdir()
    _mount("-t", "tmpfs", "-o", f"size={size},mode=700", "drills", str(folder))
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def _mount(*options: str) -> None:
    try:
        subprocess.run(["mount", *options], capture_output=True, text=True, check=True)
    except FileNotFoundError as error:
        raise CannotError("mount is not installed") from error
    except subprocess.CalledProcessError as error:
        words = error.stderr.strip()
        raise CannotError(f"a file system cannot be mounted ({words})") from error


def disk_full(drill: Drill) -> None:
    """The disk of the data folder is full, while clients write, a night is made, and after."""
    drill.made = f"once for {FULL:.0f} s, on a file system of {DISK >> 20} MB"
    with disk(drill.folder / "disk") as small, drill.server(drill.data("disk/data")).running() as s:
        key = s.key(KEY[2])
        with _crowded(drill, s):
            filler = _fill(small)
            end = time.monotonic() + FULL
            _says(drill, s.folder, *drill.nights.arguments())
            _says(drill, s.folder, *KEY)
            time.sleep(max(0.0, end - time.monotonic()))
            drill.check(so=s.answers(), wrong="keyless calls are not answered")
            filler.unlink()
        if not s.answers("/api/v1/me", key):
            drill.lost.append("a key")
        done = run_process(s.folder, *drill.nights.arguments())
        well = done.returncode in (0, 5)
        drill.check(so=well, wrong=f"the next nightly ends with {done.returncode}: {done.stderr}")
        with closing(sqlite3.connect(s.folder / "accounts.sqlite", timeout=30)) as database:
            said = database.execute("PRAGMA integrity_check").fetchone()[0]
        drill.check(so=said == "ok", wrong=f"the account database: {said}")


def _fill(small: Path) -> Path:
    filler = small / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while file.write(b"\0" * 4096) == 4096:
                pass
        except OSError:
            pass
    return filler


def _says(drill: Drill, data: Path, *arguments: str) -> None:
    """Note what a command says, which must be one line."""
    done = run_process(data, *arguments)
    lines = done.stderr.strip().splitlines()
    name = f"`{arguments[0]}`"
    drill.seen[f"{name} ends with {done.returncode}"] += 1
    if done.returncode:
        so = len(lines) == 1 and lines[0].startswith("screener: ")
        drill.check(so=so, wrong=f"{name} says {done.stderr[-300:]!r}")


def disk_read_only(drill: Drill) -> None:
    """The data folder cannot be written: what a service does that is started on it."""
    drill.made = "once, a service and commands started on a folder mounted read-only"
    with disk(drill.folder / "disk") as small:
        server = drill.server(drill.data("disk/data"))
        key = server.key(KEY[2])
        _mount("-o", "remount,ro", str(small))
        _says(drill, server.folder, *drill.nights.arguments())
        _says(drill, server.folder, *KEY)
        _starts(drill, server, key)
        _mount("-o", "remount,rw", str(small))
        with drill.timed():
            server.start()
            server.ready()
        if not server.answers("/api/v1/me", key):
            drill.lost.append("a key")
        server.stop()


def _starts(drill: Drill, server: Server, key: str) -> None:
    try:
        with server.running():
            for kind, path, given in (
                ("keyless", "/api/v1/families", ""),
                ("keyed", "/api/v1/me", key),
            ):
                end = "answered" if server.answers(path, given) else "refused"
                drill.seen[f"{kind} {end}"] += 1
    except RuntimeError:
        last = server.said().strip().splitlines()[-1]
        drill.seen[f"`serve` ends with {server.process.wait(30)}: {last}"] += 1
        drill.check(so="Traceback" not in server.said(), wrong="`serve` has a traceback")
