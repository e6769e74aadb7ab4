"""The account database and the disk: locked, away, full, and not to be written."""

from __future__ import annotations

import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from tests.faults.crowd import Crowd
from tests.faults.found import CannotError, Found
from tests.faults.kills import collect
from tests.faults.nightly import ARGUMENTS, command
from tests.faults.nights import Nights
from tests.faults.serving import Serving, served
from tests.postgres import PostgresServer, fresh_database, postgres_bin, running_server
from tests.screener.process import until
from tests.service import apart

LOCKED, AWAY, FULL = 10.0, 30.0, 8.0
"""Seconds for which a fault lasts."""
BEFORE = 1.5
"""Seconds for which the clients write before it."""
DISK = 24 * 1024 * 1024


def locked(folder: Path, nights: Nights) -> Found:
    """Another process holds the write lock of SQLite."""
    found = Found(made=f"once for {LOCKED:.0f} s, by another connection's BEGIN IMMEDIATE")
    with served(nights.copied(folder / "data")) as serving:
        accounts = serving.folder / "accounts.sqlite"
        crowd = Crowd(serving, nights.truth)
        with crowd:
            time.sleep(BEFORE)
            with closing(sqlite3.connect(accounts, timeout=30)) as other:
                other.execute("BEGIN IMMEDIATE")
                time.sleep(LOCKED)
            found.seconds.append(_until_well(serving))
        collect(found, crowd)
    return found


def away(folder: Path, nights: Nights) -> Found:
    """PostgreSQL is stopped as a crash would, and started again."""
    if postgres_bin() is None:
        raise CannotError("PostgreSQL is not installed")
    found = Found(made=f"once, stopped for {AWAY:.0f} s as by a crash, then started")
    with running_server() as server:
        url = apart(lambda: fresh_database(server.url, "away"))
        with served(nights.copied(folder / "data"), database_url=url) as serving:
            crowd = Crowd(serving, nights.truth)
            with crowd:
                time.sleep(BEFORE)
                _stop(server)
                found.seconds.append(_until_well(serving))
            collect(found, crowd)
    return found


def _stop(server: PostgresServer) -> None:
    with server.stopped():
        time.sleep(AWAY)


def _until_well(serving: Serving) -> float:
    """Seconds until somebody can sign up for a key, which writes, and call with it."""
    began = time.monotonic()

    def is_well() -> bool:
        key = serving.key(f"well{time.monotonic_ns()}@example.com")
        return serving.answers("/api/v1/me", key)

    until(is_well)
    return time.monotonic() - began


@contextmanager
def disk(folder: Path, size: int = DISK) -> Iterator[Path]:
    """A small file system of its own.

    Raises:
        CannotError: nobody may mount one here.
    """
    folder.mkdir()
    done = _mount("-t", "tmpfs", "-o", f"size={size},mode=700", "faults", str(folder))
    if done.returncode:
        raise CannotError(f"a file system cannot be mounted ({done.stderr.strip()})")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def _mount(*options: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(["mount", *options], capture_output=True, text=True)
    except FileNotFoundError as error:
        raise CannotError("mount is not installed") from error


def full(folder: Path, nights: Nights) -> Found:
    """The disk of the data folder is full, while clients write, a night is made, and after."""
    found = Found(made=f"once for {FULL:.0f} s, on a file system of {DISK >> 20} MB")
    with disk(folder / "disk") as small, served(nights.copied(small / "data")) as serving:
        new_key = serving.key("charts@example.com")
        crowd = Crowd(serving, nights.truth)
        with crowd:
            time.sleep(BEFORE)
            filler = _fill(small)
            began = time.monotonic()
            _says(found, serving.folder, *ARGUMENTS)
            _says(found, serving.folder, "key", "create", "charts@example.com", "--name", "x")
            time.sleep(max(0.0, FULL - (time.monotonic() - began)))
            if not serving.answers("/api/v1/families"):
                found.wrong.append("keyless calls are not answered")
            filler.unlink()
            found.seconds.append(_until_well(serving))
        collect(found, crowd)
        if not serving.answers("/api/v1/me", new_key):
            found.lost.append("a key")
        _ends_well(found, serving.folder)
        found.wrong += _damage(serving)
    return found


def _fill(small: Path) -> Path:
    filler = small / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while file.write(b"\0" * 4096) == 4096:
                pass
        except OSError:
            pass
    return filler


def _says(found: Found, data: Path, *arguments: str) -> None:
    """Note what a command says, which must be one line."""
    done = command(data, *arguments)
    lines = done.stderr.strip().splitlines()
    name = " ".join(arguments[:2]) if arguments[0] == "key" else arguments[0]
    found.seen[f"`{name}` ends with {done.returncode}"] += 1
    if done.returncode and (len(lines) != 1 or not lines[0].startswith("screener: ")):
        found.wrong.append(f"`{name}` says {done.stderr[-300:]!r}")


def _ends_well(found: Found, data: Path) -> None:
    done = command(data, *ARGUMENTS)
    if done.returncode not in (0, 5):
        found.wrong.append(f"the next nightly ends with {done.returncode}: {done.stderr[-200:]}")


def _damage(serving: Serving) -> list[str]:
    with closing(sqlite3.connect(serving.folder / "accounts.sqlite", timeout=30)) as database:
        said = database.execute("PRAGMA integrity_check").fetchone()[0]
    return [] if said == "ok" else [f"the account database: {said}"]


def read_only(folder: Path, nights: Nights) -> Found:
    """The data folder cannot be written: what a service does that is started on it."""
    found = Found(made="once, a service and commands started on a folder mounted read-only")
    with disk(folder / "disk") as small:
        serving = Serving(nights.copied(small / "data"))
        key = serving.key()
        if _mount("-o", "remount,ro", str(small)).returncode:
            raise CannotError("a file system cannot be made read-only")
        _says(found, serving.folder, *ARGUMENTS)
        _says(found, serving.folder, "key", "create", "reader@example.com", "--name", "x")
        _starts(found, serving, key, nights)
        if _mount("-o", "remount,rw", str(small)).returncode:
            raise CannotError("a file system cannot be made writable again")
        serving.stop()
        began = time.monotonic()
        serving.start()
        serving.ready()
        found.seconds.append(time.monotonic() - began)
        if not serving.answers("/api/v1/me", key):
            found.lost.append("a key")
        serving.stop()
    return found


def _starts(found: Found, serving: Serving, key: str, nights: Nights) -> None:
    serving.start()
    try:
        serving.ready()
    except RuntimeError:
        lines = serving.said().strip().splitlines()
        found.seen[f"`serve` ends with {serving.code()}: {lines[-1]}"] += 1
        if any("Traceback" in line for line in lines):
            found.wrong.append("`serve` ends with a traceback")
        return
    for path, given in (("/api/v1/families", ""), ("/api/v1/me", key)):
        kind = "keyed" if given else "keyless"
        well = serving.answers(path, given)
        found.seen[f"{kind} {'answered' if well else 'refused'}"] += 1
