"""A browser without scripts: keeps cookies, reads forms and posts them with their values."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

import httpx

from tests.service import Service

PASSWORD = "correct horse battery"
PASSWORD_HASH = (
    "$argon2id$v=19$m=8,t=1,p=1$ZCCQuZ2K3IAARLu9X0rN/A$asbwenr1xen8wlg5AYIEdD6Z9+CCnCkrOGRSO/syX2Y"
)
"""The hash of `PASSWORD`, with cheap parameters, since these tests are about the pages."""


@dataclass
class Form:
    """A form of a page."""

    action: str
    fields: dict[str, str] = field(default_factory=dict)
    buttons: list[tuple[str, str]] = field(default_factory=list)


class Forms(HTMLParser):
    """Collects the forms of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[Form] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.found.append(Form(given.get("action", "")))
        elif given.get("type") == "checkbox" and "checked" not in given:
            pass
        elif tag == "input" and self.found and "name" in given:
            self.found[-1].fields[given["name"]] = given.get("value", "")
        elif tag == "button" and self.found and "name" in given:
            self.found[-1].buttons.append((given["name"], given["value"]))


def unfilled(page: str) -> str:
    """A page without the e-mail address that its form keeps, as it is for every address."""
    return re.sub(r'(name="email" type="email" value=")[^"]*', r"\1", page)


class Browser(httpx.Client):
    """One person's browser on a service."""

    def __init__(self, service: Service, **options: Any) -> None:
        # No connection is kept open, so that a test need not close its browsers.
        limits = httpx.Limits(max_keepalive_connections=0)
        options = {"timeout": 30, "limits": limits, **options}
        super().__init__(base_url=service.url, **options)

    def form(self, address: str, action: str | None = None) -> Form:
        """The form of a page that posts to an action; by default, to the page itself."""
        page = self.get(address)
        assert page.status_code == 200, page.text
        wanted = action or address
        return next(form for form in Forms(page.text).found if form.action == wanted)

    def submit(self, form: Form, *, headers: Any = None, **fields: str) -> httpx.Response:
        """Post a form with some fields filled in."""
        return self.post(form.action, data={**form.fields, **fields}, headers=headers)

    def sign_in(self, email: str, password: str = PASSWORD, target: str = "") -> httpx.Response:
        """Fill in the sign-in form."""
        address = f"/sign-in?next={target}" if target else "/sign-in"
        return self.submit(self.form(address, "/sign-in"), email=email, password=password)
