"""A scripted browser: keeps cookies, fills in forms and presses their buttons, like a person."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit

import httpx

REDIRECTS = (301, 302, 303, 307, 308)


@dataclass
class Form:
    """A form of a page: where it goes, its fields, and its buttons by label."""

    action: str
    fields: dict[str, str] = field(default_factory=dict)
    buttons: dict[str, tuple[str, str]] = field(default_factory=dict)


class Forms(HTMLParser):
    """The forms of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Form] = []
        self._button: tuple[str, str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.found.append(Form(given.get("action", "")))
        elif tag == "input" and self.found and "name" in given:
            self.found[-1].fields[given["name"]] = given.get("value", "")
        elif tag == "button":
            self._button = given.get("name", ""), given.get("value", "")

    def handle_data(self, data: str) -> None:
        if self._button is not None and data.strip() and self.found:
            self.found[-1].buttons[data.strip()] = self._button
            self._button = None


class Browser:
    """A person's browser on one site."""

    def __init__(self, email: str, password: str) -> None:
        self._http = httpx.Client(timeout=30)
        self._email = email
        self._password = password

    def approve(self, address: str) -> str:
        """Open an authorization address, sign in where asked, approve; the address it leads to."""
        site = urlsplit(address).netloc
        page = self._open(address)
        if any("password" in form.fields for form in forms(page)):
            page = self._submit(page, "Sign in", email=self._email, password=self._password)
        answer = self._press(page, "Approve")
        target = urljoin(str(answer.url), answer.headers["location"])
        assert urlsplit(target).netloc != site, target
        return target

    def close(self) -> None:
        """Forget the cookies."""
        self._http.close()

    def _open(self, address: str) -> httpx.Response:
        page = self._http.get(address)
        while page.status_code in REDIRECTS:
            page = self._http.get(urljoin(str(page.url), page.headers["location"]))
        return page

    def _submit(self, page: httpx.Response, label: str, **filled: str) -> httpx.Response:
        answer = self._press(page, label, **filled)
        if answer.status_code in REDIRECTS:
            return self._open(urljoin(str(answer.url), answer.headers["location"]))
        return answer

    def _press(self, page: httpx.Response, label: str, **filled: str) -> httpx.Response:
        form, button = next(
            (form, name)
            for form in forms(page)
            for words, name in form.buttons.items()
            if words.lower().startswith(label.lower())
        )
        fields = {**form.fields, **filled}
        if button[0]:
            fields[button[0]] = button[1]
        address = urljoin(str(page.url), form.action)
        return self._http.post(address, data=fields, headers={"Origin": origin(address)})


def forms(page: httpx.Response) -> list[Form]:
    """The forms of a page."""
    parser = Forms()
    parser.feed(page.text)
    return parser.found


def origin(address: str) -> str:
    """Scheme and host of an address."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}"
