"""`screener up` without bars: the first start makes everything, and the next serves it."""

from __future__ import annotations

import re
from pathlib import Path

import httpx

from screener.nightly.sample import SAMPLE_SESSION
from tests.screener.process import Server, serving_process, until
from tests.screener.web.browser import Forms


def check_password(up: Server, greeting: str) -> None:
    """Check that the password that is shown opens every page of the account."""
    words = greeting.split()
    email, password = (words[words.index(name) + 1] for name in ("address", "password"))
    with httpx.Client(base_url=up.url, follow_redirects=True, timeout=30) as browser:
        changes = browser.get("/changes")
        fields = Forms(browser.get("/watchlist").text).found[-1].fields
        form = {**fields, "email": email, "password": password}
        came = browser.post("/sign-in", data=form, headers={"Origin": up.url})
        pages = [browser.get(path) for path in ("/keys", "/account", "/usage", "/changes")]

    assert (changes.status_code, changes.url.path) == (200, "/changes")
    assert (email, came.url.path) == ("me@localhost", "/watchlist")
    assert re.findall(r'<tr role="row" id="([^"]+)"', came.text) == ["AAPL", "MSFT", "GOOG", "IBM"]
    assert all(page.status_code == 200 and not page.history for page in pages)


def test_up_makes_everything_and_a_second_up_serves_what_is_there(tmp_path: Path) -> None:
    with serving_process(tmp_path, command="up") as server:
        base = f"{server.url}/api/v1"
        until(lambda: httpx.get(f"{base}/demo/AAPL").status_code == 200)
        demo = httpx.get(f"{base}/demo/GOOG").json()
        until(lambda: "password" in server.stderr.read_text())
        greeting = server.stderr.read_text()
        check_password(server, greeting)
    secret = next(word for word in greeting.split() if word.startswith("ps_live_"))

    with serving_process(tmp_path, command="up") as server:
        answer = httpx.get(
            f"{server.url}/api/v1/tickers/AAPL/patterns",
            headers={"Authorization": f"Bearer {secret}"},
        )
    second = server.stderr.read_text()

    assert demo["as_of_session"] == SAMPLE_SESSION.isoformat()
    assert [(setup["family"], setup["status"]) for setup in demo["setups"]] == [
        ("rising_wedge", "forming"),
        ("triangle", "in_progress"),
    ]
    assert "claude mcp add" in greeting
    assert greeting.count(secret) == greeting.splitlines().count(f"  {secret}") == 1
    assert greeting.count('"Authorization: Bearer $SCREENER_KEY"') == 2
    assert "read -rs SCREENER_KEY && export SCREENER_KEY" in greeting
    assert answer.json()["setups"][0]["symbol"] == "AAPL"
    assert "ps_live_" not in second
    assert "screener key create" in second


def test_the_sample_night_has_setups_from_the_quality_that_is_asked_for(tmp_path: Path) -> None:
    with serving_process(tmp_path, "--min-quality", "99", command="up") as server:
        until(lambda: httpx.get(f"{server.url}/api/v1/demo/AAPL").status_code == 200)
        demo = httpx.get(f"{server.url}/api/v1/demo/AAPL").json()

    assert (demo["as_of_session"], demo["setups"]) == (SAMPLE_SESSION.isoformat(), [])
