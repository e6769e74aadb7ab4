"""`screener doctor`: what it looks at, and how it asks a running service."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from screener.service import proxy_echo
from store.folder.layout import READY, STAGE, DataFolder
from tests.screener.command import Finished, run
from tests.screener.process import free_port
from tests.service import serving


def levels(done: Finished) -> dict[str, str]:
    return {one["name"]: one["level"] for one in json.loads(done.stdout)["checks"]}


def words(done: Finished, name: str) -> str:
    found = [one["words"] for one in json.loads(done.stdout)["checks"] if one["name"] == name]
    return str(found[0])


def examined(data: Path, *options: str, **settings: str) -> Finished:
    return run(data, "doctor", "--json", *options, **settings)


def test_nothing_is_wrong_with_a_night_and_nothing_is_changed(
    data_dir: Path,
) -> None:
    before = sorted(data_dir.rglob("*"))
    done = examined(data_dir)

    assert done.returncode == 0, done.stdout
    assert "fault" not in levels(done).values()
    assert words(done, "demo symbols") == "AAPL, MSFT, GOOG, IBM"  # the night knows no other
    assert [path for path in sorted(data_dir.rglob("*")) if ".verified" not in path.name] == [
        path for path in before if ".verified" not in path.name
    ]


def kill_a_restore(data: Path) -> None:
    (data / STAGE).mkdir()
    (data / STAGE / READY).touch()


def damage_the_book(data: Path) -> None:
    (book,) = (data / "nights").glob("*.book")
    content = bytearray(book.read_bytes())
    content[-1] ^= 1
    book.write_bytes(content)


def damage_the_ledger(data: Path) -> None:
    newest = newest_of_a_ledger(data)
    newest.write_bytes(newest.read_bytes() + b"x")


def newest_of_a_ledger(data: Path) -> Path:
    assert run(data, "nightly").returncode == 0
    return max((data / "ledger").glob("*.jsonl.gz"))


def lose_an_account(data: Path) -> None:
    run(data, "account", "add", "ada@example.com", "--plan", "premium")
    run(data, "key", "create", "ada@example.com", "--name", "laptop")
    with closing(sqlite3.connect(data / "accounts.sqlite")) as database:
        database.execute("DELETE FROM accounts")
        database.commit()


@pytest.mark.parametrize(
    ("damage", "name", "said"),
    [
        (kill_a_restore, "data folder", "run `screener restore` again"),
        (damage_the_book, "night", "is not the one that was sealed"),
        (damage_the_ledger, "ledger", "is not the one that was appended"),
        (lambda data: newest_of_a_ledger(data).unlink(), "ledger", "is missing"),
        (lambda data: (data / "accounts.sqlite").write_bytes(b"x" * 999), "accounts", "not a data"),
        (lose_an_account, "accounts", "without their accounts"),
    ],
)
def test_what_is_damaged_is_a_fault(
    data_dir: Path, damage: Callable[[Path], object], name: str, said: str
) -> None:
    damage(data_dir)
    done = examined(data_dir)

    assert done.returncode == 1
    assert levels(done)[name] == "fault"
    assert said in words(done, name)


def test_people_read_a_line_for_each_check(data_dir: Path) -> None:
    done = run(data_dir, "doctor")

    assert done.returncode == 0
    assert any(line.split()[:2] == ["ok", "night"] for line in done.stdout.splitlines())


def test_a_folder_that_is_not_there_yet_is_no_fault_and_is_not_made(tmp_path: Path) -> None:
    done = examined(tmp_path / "none")

    assert levels(done)["data folder"] == "warning"
    assert not (tmp_path / "none").exists()


def test_an_open_folder_of_others_is_a_fault_and_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    tmp_path.chmod(0o755)

    done = run(tmp_path, "doctor")

    assert "is not a data folder" in done.stdout
    assert tmp_path.stat().st_mode & 0o777 == 0o755


def test_symbols_that_the_night_does_not_know_are_named_by_doctor(data_dir: Path) -> None:
    done = examined(data_dir, SCREENER_DEMO_SYMBOLS="MSFT,MSFTT")

    assert levels(done)["demo symbols"] == "warning"
    assert "does not know MSFTT;" in words(done, "demo symbols")


@pytest.mark.parametrize(
    ("settings", "name", "said"),
    [
        ({"PUBLIC_URL": "https://a.example.com"}, "proxies", "share the limits of one address"),
        ({"PUBLIC_URL": "http://a.example.com"}, "public address", "in the clear"),
        ({"TRUSTED_PROXIES": "127.0.0.1"}, "proxies", "set SCREENER_PUBLIC_URL"),
        ({"TRUSTED_PROXIES": "*", "HOST": "10.0.0.7"}, "proxies", "PUBLIC_URL"),
        (
            {"OPEN_PAGES": "true", "PUBLIC_URL": "https://a.example.com", "TRUSTED_PROXIES": "::1"},
            "open pages",
            "unset it",
        ),
    ],
)
def test_settings_that_contradict_each_other_are_warned_of(
    data_dir: Path, settings: dict[str, str], name: str, said: str
) -> None:
    done = examined(data_dir, **{f"SCREENER_{key}": value for key, value in settings.items()})

    assert levels(done)[name] == "warning"
    assert said in words(done, name)


def test_a_running_service_is_asked_what_arrives(data_dir: Path) -> None:
    with serving(data_dir) as live:
        done = examined(data_dir, "--url", live.url)

    found = levels(done)
    for name in ("service", "X-Forwarded-For", "X-Forwarded-Proto", "Host"):
        assert found[name] == "ok", words(done, name)
    assert not DataFolder(data_dir).doctor.exists()


def test_an_address_where_nobody_answers_is_a_fault(data_dir: Path) -> None:
    done = examined(data_dir, "--url", f"http://127.0.0.1:{free_port()}")

    assert done.returncode == 1
    assert "cannot be reached" in words(done, "service")


def test_a_service_of_another_folder_is_a_fault(data_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    with serving(data_dir) as live:
        done = examined(tmp_path / "other", "--url", live.url)

    assert "not as the service of this data folder" in words(done, "service")


def post(url: str, secret: str | None) -> httpx.Response:
    headers: Any = {} if secret is None else {proxy_echo.FIELD: secret}
    return httpx.post(f"{url}{proxy_echo.PATH}", headers=headers)


def test_only_the_token_of_the_data_folder_is_told_what_arrives(data_dir: Path) -> None:
    with serving(data_dir) as live:
        nowhere = httpx.post(f"{live.url}/nowhere")
        strangers = [post(live.url, secret) for secret in (None, "guess", "")]
        with proxy_echo.token(data_dir) as secret:
            wrong, right = post(live.url, secret + "x"), post(live.url, secret)
            os.utime(DataFolder(data_dir).doctor, (1, 1))
            old = post(live.url, secret)
        gone = post(live.url, secret)

    assert right.status_code == 200
    assert right.json()["client"] == "127.0.0.1"
    for refused in (*strangers, wrong, old, gone):
        assert (refused.status_code, refused.text) == (404, nowhere.text)


@pytest.mark.parametrize("end", ["", "/"])
def test_to_strangers_the_address_is_none_by_any_method(data_dir: Path, end: str) -> None:
    with serving(data_dir) as live, httpx.Client(base_url=live.url) as client:
        for method in ("GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE", "POST"):
            none, ours = (
                client.request(method, f"{p}{end}") for p in ("/nowhere", proxy_echo.PATH)
            )
            assert (ours.status_code, ours.text) == (none.status_code, none.text), method
            assert ours.headers.keys() == none.headers.keys()
