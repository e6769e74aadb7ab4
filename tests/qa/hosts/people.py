"""The person at the browser when a host signs in."""

from __future__ import annotations

from tests.screener.web.browser import Browser, Forms


def approve(browser: Browser, address: str) -> str:
    """Open an authorization address and approve; the address it leads to."""
    forms = Forms(browser.get(address).text).found
    form = next(form for form in forms if ("decision", "approve") in form.buttons)
    location: str = browser.submit(form, decision="approve").headers["location"]
    return location
