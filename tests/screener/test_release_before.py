"""What the release before left: its data folder goes on under this one, and its backup restores.

`release_before.tar.xz` holds what that release made of the shipped sample: `data`, with an account,
a key, a signed-in browser, an app, two nights and the withdrawal of one; `before.backup`, made by
its `screener backup`; and `then.json`, with the secrets and what it served of the tracked symbols.
"""

from __future__ import annotations

import datetime as dt
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.screener.command import run, succeed
from tests.service import Service, serving

PACKED = Path(__file__).parent / "release_before.tar.xz"


@pytest.fixture
def left(tmp_path: Path) -> Path:
    """The folder of what it left."""
    with tarfile.open(PACKED) as packed:
        packed.extractall(tmp_path, filter="data")
    return tmp_path


@pytest.fixture(params=["data folder", "backup"])
def data(left: Path, request: pytest.FixtureRequest) -> Path:
    """Its data folder, or one into which its backup was restored."""
    if request.param == "data folder":
        return left / "data"
    succeed(left / "restored", "restore", str(left / "before.backup"))
    return left / "restored"


@pytest.fixture
def then(left: Path) -> dict[str, Any]:
    """Secrets and answers of that release."""
    return dict(json.loads((left / "then.json").read_bytes()))


@pytest.fixture
def upgraded(data: Path, then: dict[str, Any]) -> Iterator[Service]:
    """This release over what that one left, five minutes later."""
    now = dt.datetime.fromisoformat(then["made"]) + dt.timedelta(minutes=5)
    with serving(data, email="new@example.com", clock=lambda: now) as live:
        yield live


def test_its_key_is_served_what_it_served(upgraded: Service, then: dict[str, Any]) -> None:
    for symbol, served in then["served"].items():
        answer = upgraded.get(f"/tickers/{symbol}/patterns", key=then["key"]).json()
        assert answer == answer | served


def test_its_browser_is_still_signed_in(upgraded: Service, then: dict[str, Any]) -> None:
    page = httpx.get(f"{upgraded.url}/keys", cookies={"session": then["session"]})
    assert page.status_code == 200
    assert "laptop" in page.text


def test_its_app_still_has_access_and_renews_it(upgraded: Service, then: dict[str, Any]) -> None:
    assert upgraded.get("/me", key=then["access_token"]).status_code == 200
    renewed = httpx.post(
        f"{upgraded.url}/oauth/token",
        data={
            "grant_type": "refresh_token",
            "refresh_token": then["refresh_token"],
            "client_id": then["client_id"],
        },
    ).json()
    assert upgraded.get("/me", key=then["access_token"]).status_code == 401
    assert upgraded.get("/me", key=renewed["access_token"]).status_code == 200


def test_its_nights_and_its_ledger_are_whole(data: Path) -> None:
    for command, words in (
        (("night", "verify"), "20120919-4a339ed3a38d"),
        (("ledger", "verify"), "Unchanged: 2 nights, 1 withdrawal."),
        (("db", "upgrade"), ""),
        (("db", "check"), ""),
    ):
        done = run(data, *command)
        assert (done.returncode, words in done.stdout) == (0, True), done.stdout + done.stderr


def test_the_next_night_goes_on_from_its_own(data: Path) -> None:
    succeed(data, "nightly")
    assert "Unchanged: 3 nights, 1 withdrawal." in run(data, "ledger", "verify").stdout
