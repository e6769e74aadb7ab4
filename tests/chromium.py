"""The system's Chromium, in which tests look at pages as people do."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, ViewportSize

OTHER = "other.example"
"""The name under which the browser finds this computer as another site."""

SWITCHES = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    f"--host-resolver-rules=MAP {OTHER} 127.0.0.1",
]


@contextmanager
def launched() -> Iterator[Browser]:
    """The browser within the block; skips the test where there is no Chromium."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("Chromium is not installed")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=SWITCHES)
        yield browser
        browser.close()


@contextmanager
def profile_of(
    browser: Browser, viewport: ViewportSize | None = None, *, scripts: bool = True
) -> Iterator[BrowserContext]:
    """A fresh profile of a browser within the block, with scripts or without."""
    context = browser.new_context(viewport=viewport, java_script_enabled=scripts)
    context.set_default_timeout(30_000)
    yield context
    context.close()


@contextmanager
def fresh_profile(
    viewport: ViewportSize | None = None, *, scripts: bool = True
) -> Iterator[BrowserContext]:
    """A fresh profile of a browser of its own."""
    with launched() as browser, profile_of(browser, viewport, scripts=scripts) as profile:
        yield profile
