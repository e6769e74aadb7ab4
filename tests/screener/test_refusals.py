"""What an operator can put right is one line that says what to do, from any command."""

from __future__ import annotations

import datetime as dt
import os
import re
import resource
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from screener.settings.console import REFUSED
from tests.node import ROOT
from tests.screener.command import check_refusal, run, run_process
from tests.screener.process import free_port

IN_USE = "another process listens there"
NO_REDIS = (
    *("redis//:hunter2@localhost", "http://:hunter2@localhost", "redis://:hunter2@localhost:port"),
    *("redis://:hunter2@localhost/name", "redis://:hunter2@/0", "redis://:hunter2@localhost#1"),
    *("redis://:hunter2@localhost?socket_timeout=60", "redis://localhost?hunter2=1", "unix://"),
)


def test_a_misspelt_setting_is_refused_with_the_one_that_was_meant(tmp_path: Path) -> None:
    refused = run(tmp_path, "account", "list", SCREENER_WROKERS="2")

    check_refusal(refused, "SCREENER_WROKERS is not a setting; did you mean SCREENER_WORKERS?")


def test_a_variable_unlike_any_setting_is_warned_of(tmp_path: Path) -> None:
    done = run(tmp_path, "account", "list", SCREENER_SERVICE_HOST="10.0.0.7", SCREENER_KEY="x")

    assert done.returncode == 0
    assert done.stderr.splitlines() == [
        "screener: warning: SCREENER_SERVICE_HOST is not a setting; "
        "`screener settings` lists them all."
    ]


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("TRUSTED_PROXIES", "nginx", "'nginx' is not an address or network"),
        ("TRUSTED_PROXIES", "127.0.0.1,10.0.0.1/8", "write 10.0.0.0/8 or 10.0.0.1"),
        ("ALLOWED_HOSTS", "http://screener.example.com", "is not a host"),
        ("ALLOWED_ORIGINS", "app.example.com", "is not an origin"),
        ("PUBLIC_URL", "https://screener.example.com:99999", "must be scheme and host"),
        ("PUBLIC_URL", "https://", "must be scheme and host"),
        ("METRICS_PORT", "8000", "is the port of the service"),
        ("KEY_PER_MINUTE", "many", "must be a whole number"),
        ("WORKERS", "0", "must be at least 1"),
        ("OPEN_PAGES", "perhaps", "must be true or false"),
        ("SESSION_QUORUM", "x", "must be a number"),
        ("SESSION_QUORUM", "2", "must be at most 1"),
        ("LOG_FORMAT", "xml", "must be 'console' or 'json'"),
        ("REGISTRY_NAME", "My Screener", "must be a reversed domain"),
        *(("LIMITS_URL", url, "SCREENER_LIMITS_URL") for url in NO_REDIS),
        ("KEY_PREFIX", "short", ""),
        ("KEY_PREFIX", "pso_keys", "sign-in"),
    ],
)
def test_nonsense_is_refused_by_the_name_of_the_setting(
    tmp_path: Path, name: str, value: str, words: str
) -> None:
    refused = run(tmp_path, "account", "list", **{f"SCREENER_{name}": value})

    check_refusal(refused, words)
    assert f"SCREENER_{name}" in refused.stderr
    assert "hunter2" not in refused.stderr


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TRUSTED_PROXIES", "*"),
        ("TRUSTED_PROXIES", "127.0.0.1, 10.0.0.0/8, ::1, fd00::/8"),
        ("ALLOWED_HOSTS", "screener.example.com,10.0.0.7:*,[::1]:8000"),
        ("ALLOWED_ORIGINS", "https://app.example.com,http://10.0.0.7:*,vscode-webview://abc"),
        ("PUBLIC_URL", "HTTPS://Screener.example.com:8443/"),
        ("PUBLIC_URL", "http://[::1]:8000"),
    ],
)
def test_what_makes_sense_is_taken(tmp_path: Path, name: str, value: str) -> None:
    assert run(tmp_path, "account", "list", **{f"SCREENER_{name}": value}).returncode == 0


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("postgresql+psycopg://a:secret@db/x", "write postgresql:// instead of postgresql+psycopg"),
        ("postgres+pg8000://a:secret@db/x", "write postgresql:// instead of postgres+pg8000"),
        (
            "postgresql://a@db/x?secret=1",
            "with no parameters but those of docs/several-machines.md",
        ),
        ("postgresql://a:secret@db/x?channel_binding=require", "with no parameters but those"),
        ("postgresql://a:secret@db/x?sslmode=some", "a parameter of the URL has a value"),
        ("postgresql://a:secret@db/x?keepalives=1", "with no parameters but those"),
        ("sqlite:////tmp/secret.db", "write sqlite+aiosqlite:// instead of sqlite://"),
        ("mysql+aiomysql://a:secret@db/x", "postgresql://USER:PASSWORD@HOST/DATABASE"),
        ("postgresql+asyncpg://a:b@db:secret/x", "SCREENER_DATABASE_URL"),
        ("nonsense of secret", "postgresql://USER:PASSWORD@HOST/DATABASE"),
        ("sqlite+aiosqlite:////none/x.db", "the folder of /none/x.db does not exist; make it"),
    ],
)
def test_a_wrong_address_of_the_accounts_says_what_to_write(
    tmp_path: Path, url: str, words: str
) -> None:
    refused = run(tmp_path, "account", "list", SCREENER_DATABASE_URL=url)

    check_refusal(refused, words, REFUSED if "/none/" in url or "=some" in url else 2)
    assert "secret" not in refused.stderr


@pytest.mark.parametrize("command", ["account list", "serve"])
def test_a_server_that_is_not_there_is_named_and_its_service_is_started_again(
    tmp_path: Path, command: str
) -> None:
    pytest.importorskip("asyncpg")
    unit = (ROOT / "deploy" / "systemd" / "screener.service").read_text()
    settled = re.findall(r"^RestartPreventExitStatus=(.+)$", unit, re.MULTILINE)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{free.getsockname()[1]}"
        url = f"postgresql://a:secret@{place}/x"
        settings = {"SCREENER_DATABASE_URL": url, "SCREENER_PORT": str(free_port())}
        refused = run(tmp_path, *command.split(), **settings)

    refusal = refused._replace(stderr=refused.stderr.splitlines()[-1])
    check_refusal(refusal, f"nothing listens at {place}", REFUSED)
    assert "secret" not in refused.stderr
    assert "Traceback" not in refused.stderr
    assert str(REFUSED) not in " ".join(settled).split()


@pytest.mark.engine
def test_a_database_that_is_not_on_the_server_is_named(tmp_path: Path, postgres_url: str) -> None:
    refused = run(tmp_path, "account", "list", SCREENER_DATABASE_URL=f"{postgres_url}/none")

    check_refusal(
        refused, "database none, user postgres: there is no such database on the server", REFUSED
    )


def test_a_port_in_use_is_refused_with_the_variable_that_make_takes(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        refused = run(tmp_path, "serve", "--port", str(port))

    check_refusal(refused, IN_USE)
    assert "make up SCREENER_PORT=" in refused.stderr


def test_an_address_of_another_machine_is_refused(tmp_path: Path) -> None:
    refused = run(tmp_path, "serve", "--host", "203.0.113.9")

    check_refusal(refused, "it is not an address of this machine; choose another with --host")


@contextmanager
def no_file_larger_than(most: int) -> Iterator[None]:
    """Let this process write no larger file within the block."""
    before, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (before, hard))


@pytest.mark.parametrize("most", [1_000, 20_000, 100_000])
def test_a_file_that_may_not_grow_ends_a_night_in_one_line(tmp_path: Path, most: int) -> None:
    with no_file_larger_than(most):
        refused = run(tmp_path / "data", "nightly")

    check_refusal(refused, "", REFUSED)
    assert not (tmp_path / "data" / "manifest.json").exists()


@contextmanager
def mounted(folder: Path, size: str) -> Iterator[Path]:
    """A small disk of memory within the block."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root mounts a disk")
    folder.mkdir()
    options = f"size={size},mode=700"
    if subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]).returncode:
        pytest.skip("this machine lets nobody mount a disk")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.engine
@pytest.mark.parametrize("size", ["8k", "60k", "140k", "180k", "200k"])
def test_a_full_disk_ends_a_night_in_one_line(tmp_path: Path, size: str) -> None:
    with mounted(tmp_path / "disk", size) as data:
        refused = run_process(data, "nightly")

        check_refusal(refused, "make room", REFUSED)
        assert not (data / "manifest.json").exists()


@pytest.mark.engine
def test_a_disk_that_fills_while_bars_are_sorted_ends_a_night_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "bars").mkdir()
    random = np.random.default_rng(1)
    for number in range(10):
        days = pl.date_range(dt.date(1990, 1, 1), dt.date(2020, 1, 1), eager=True)
        prices = {name: random.random(len(days)) for name in ("open", "high", "low", "close")}
        pl.DataFrame({"date": days, **prices}).write_parquet(tmp_path / "bars" / f"A{number}.pq")
    with mounted(tmp_path / "disk", "1m") as data:
        refused = run_process(data, "nightly", "--bars", str(tmp_path / "bars"))

        check_refusal(refused, "The bars cannot be sorted in", REFUSED)
        assert not (data / "manifest.json").exists()


@pytest.mark.engine
def test_accounts_on_a_full_disk_say_so_and_can_be_read(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "1m") as data:
        assert run(data, "account", "list").returncode == 0
        with pytest.raises(OSError, match="No space"):
            (data / "filler").write_bytes(bytes(1_000_000))
        refused = run(data, "account", "add", "ada@example.com", "--plan", "premium")

    check_refusal(refused, "accounts.sqlite: the disk is full", REFUSED)


@pytest.mark.engine
def test_a_read_only_disk_refuses_what_writes_and_serves_what_reads(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "8m") as data:
        assert run_process(data, "nightly").returncode == 0
        subprocess.run(["mount", "-o", "remount,ro", str(data)], check=True)
        written = [run(data, *words) for words in (["nightly"], ["account", "list"], ["purge"])]
        read = [run(data, *words) for words in (["scan"], ["night", "list"], ["ledger", "verify"])]

    for refused in written:
        check_refusal(refused, "", REFUSED)
        assert "read-only" in refused.stderr.lower()
    assert [done.returncode for done in read] == [0, 0, 0]
