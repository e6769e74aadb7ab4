"""The page that says how to connect: what it shows works, with and without scripts."""

from __future__ import annotations

import html
import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio.to_thread
import httpx
import pytest

from mcp_server.presentation.hosts import Way, hosts
from tests.chromium import profile_of
from tests.screener.web.browser import Browser
from tests.service import Service, apart, serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser as Program
    from playwright.sync_api import BrowserContext, Page


def way(service: Service, key: str) -> Way:
    """A way to connect to a service, by its name."""
    ways = (way for host in hosts(service.settings.offer) for way in host.ways)
    return next(way for way in ways if way.key == key)


@pytest.mark.parametrize(
    ("key", "told"), [("python", "track_record"), ("python_key", "'symbol': 'MSFT'")]
)
def test_the_python_programs_run_as_they_are_shown(
    service: Service,
    key: str,
    told: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("SCREENER_KEY", service.key)

    program = way(service, key).value
    # In a thread, as the main one of a process.
    apart(partial(anyio.to_thread.run_sync, exec, program, {"__name__": "__main__"}))

    assert told in capsys.readouterr().out


def test_every_example_asks_for_a_demo_symbol_with_a_setup(data_dir: Path) -> None:
    """The first demo symbol has none on this night."""
    documents = ("/llms.txt", "/api/v1/llms.txt", "/api/v1/skill.md", "/api/v1/")
    with serving(data_dir, demo_symbols=("INTC", "IBM")) as service:
        texts = [httpx.get(service.url + path).text for path in ("/", "/connect", *documents)]
        named = {name for text in texts for name in re.findall(r"curl \S+/demo/(\w+)", text)}

    assert all("curl" in text for text in texts)
    assert named == {"IBM"}


def test_the_curl_commands_run_as_they_are_shown(service: Service) -> None:
    asked, keyed = way(service, "curl_key").value.splitlines()
    demo = subprocess.run(
        shlex.split(way(service, "curl").value), capture_output=True, text=True, check=True
    )
    mine = subprocess.run(
        ["bash", "-c", keyed],
        env={**os.environ, "SCREENER_KEY": service.key},
        capture_output=True,
        text=True,
        check=True,
    )

    assert asked.startswith("read -rs SCREENER_KEY")
    assert '"setups"' in demo.stdout
    assert '"tracked_ticker_count"' in mine.stdout


def test_every_tab_is_a_link_to_its_own_part_of_the_page(service: Service) -> None:
    page = Browser(service).get("/connect").text
    tabs = re.findall(r'<h2 id="[a-z-]+"><a href="#([a-z-]+)">([^<]+)</a></h2>', page)

    wanted = [(host.key, host.name) for host in hosts(service.settings.offer)]
    assert [(key, html.unescape(name)) for key, name in tabs] == wanted
    for key, _ in tabs:
        assert page.count(f'id="{key}"') == 1


@pytest.fixture(params=[True, False], ids=["scripts", "no scripts"])
def tab(request: pytest.FixtureRequest, program: Program) -> Iterator[Page]:
    """A tab of the system's Chromium, with scripts and without."""
    with profile_of(program, scripts=request.param) as profile:
        yield profile.new_page()


@pytest.mark.engine
def test_a_tab_shows_its_host_alone_by_link_by_mouse_and_by_keyboard(
    service: Service, tab: Page
) -> None:
    tab.goto(f"{service.url}/connect#codex")
    assert shown(tab) == ["codex"]
    tab.goto(f"{service.url}/connect")
    assert shown(tab) == ["claude"]
    tab.get_by_role("link", name="Gemini CLI").click()
    assert shown(tab) == ["gemini-cli"]
    tab.get_by_role("link", name="curl", exact=True).focus()
    tab.keyboard.press("Enter")
    assert shown(tab) == ["curl"]
    tab.go_back()
    assert shown(tab) == ["gemini-cli"]


@pytest.mark.engine
def test_with_scripts_the_shown_tab_is_told_and_its_value_is_copied(
    service: Service, chromium: BrowserContext
) -> None:
    chromium.grant_permissions(["clipboard-read", "clipboard-write"], origin=service.url)
    page = chromium.new_page()
    page.goto(f"{service.url}/connect#codex")
    current = page.locator("h2 a[aria-current]")
    assert current.all_text_contents() == ["Codex"]
    page.get_by_role("button", name="Copy for Codex: sign in").click()
    page.get_by_role("button", name="Copied").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")

    assert copied == way(service, "codex").value
    page.get_by_role("link", name="Goose").click()
    page.locator("h2 a[aria-current]", has_text="Goose").wait_for()
    assert current.all_text_contents() == ["Goose"]


def shown(page: Page) -> list[str]:
    """The hosts whose ways can be seen."""
    found: list[str] = page.eval_on_selector_all(
        ".hosts > section",
        "all => all.filter(one => one.querySelector('.ways').offsetHeight).map(one => one.id)",
    )
    return found
