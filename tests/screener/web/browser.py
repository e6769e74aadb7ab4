"""A browser without scripts: keeps cookies, reads forms and posts them with their values."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlencode

import httpx

from tests.screener.web.tree import Document, Element
from tests.service import PASSWORD as PASSWORD
from tests.service import PASSWORD_HASH as PASSWORD_HASH
from tests.service import Service


class Control:
    """One field, its value, and the values that it offers if it is a menu."""

    def __init__(self, element: Element) -> None:
        self.attributes = element.attributes
        self.name, self.value = element.attributes["name"], element.attributes.get("value", "")
        choices = [one.attributes for one in element.all("option")]
        self.options = [choice["value"] for choice in choices]
        if choices:  # without a choice a browser sends the first one
            self.value = next((c for c in choices if "selected" in c), choices[0])["value"]


class Form:
    """A form of a page: what a browser without scripts would send of it, and its buttons."""

    def __init__(self, form: Element) -> None:
        buttons = [one.attributes for one in form.all("button")]
        self.id, self.action = (form.attributes.get(name, "") for name in ("id", "action"))
        self.controls = [Control(one) for one in form.all("input", "select") if _is_sent(one)]
        self.fields = {one.name: one.value for one in self.controls}
        self.buttons = [(one["name"], one["value"]) for one in buttons if "name" in one]

    def named(self, name: str) -> list[Control]:
        """The fields of a name."""
        return [control for control in self.controls if control.name == name]

    @property
    def query(self) -> str:
        """What is sent by GET."""
        return urlencode([(control.name, control.value) for control in self.controls])


def _is_sent(field: Element) -> bool:
    """A field without a name is not sent, and no box that is not ticked."""
    is_off = field.attributes.get("type") == "checkbox" and "checked" not in field.attributes
    return "name" in field.attributes and not is_off


class Forms:
    """The forms of a page."""

    def __init__(self, page: str) -> None:
        self.found = [Form(form) for form in Document(page).root.all("form")]

    def with_id(self, form_id: str) -> Form:
        """The form with an id."""
        return next(form for form in self.found if form.id == form_id)


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


FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"

SAFARI = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 "
    "(KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1"
)
