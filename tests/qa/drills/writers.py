"""Writers: actors that change something again and again, and know what was acknowledged."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx

from store.accounts.audit import AuditLog, EventKind
from store.database.database import Database
from tests.qa.drills.crowd import Actor, RefusedError
from tests.qa.drills.server import PATIENCE, Place, numbers, transport
from tests.qa.drills.truth import ending
from tests.screener.web.browser import PASSWORD, Browser, Form, Forms
from tests.screener.web.people import CALLBACK, VERIFIER, authorize_address, new_app, new_person
from tests.service import TRACKED, on_database

SECRET = re.compile(r'<code id="secret">([^<]+)<')
MAX_TOKENS = 25
"""Pairs of tokens that one writer asks for."""


def browser_of(place: Place) -> Browser:
    """A browser with an address of its own."""
    browser = Browser(place.live, transport=transport())
    browser.timeout = httpx.Timeout(PATIENCE)
    return browser


def form_of(browser: Browser, address: str) -> Form:
    """The form of a page that posts to the page itself.

    Raises:
        RefusedError: there is no such page now.
    """
    page = browser.get(address)
    if page.status_code != 200:
        raise RefusedError(ending(page))
    return next(form for form in Forms(page.text).found if form.action == address)


def opens(place: Place, key: str) -> bool:
    """Whether a key or token opens something."""
    with place.client(key) as client:
        return client.get("/api/v1/me").status_code == 200


def symbols_in(answer: httpx.Response) -> list[str]:
    """The symbols of a watchlist.

    Raises:
        RefusedError: the answer has none.
    """
    if answer.status_code != 200:
        raise RefusedError(ending(answer))
    return [row["symbol"] for row in answer.json()["tickers"]]


class Watching(Actor):
    """PUT and PATCH of the tickers."""

    def __init__(self, place: Place) -> None:
        super().__init__("watchlist", place)
        self._client = place.client(place.key(f"watch{next(numbers)}@example.com"))
        self._known, self._sent = list(TRACKED), list(TRACKED)
        self._turn = 0
        self._gone: list[str] = []

    def act(self) -> str:
        """Replace the list, or add to it and take from it, in turn."""
        if self._sent != self._known:
            self._look()
        self._turn += 1
        first = TRACKED[self._turn % 4]
        if self._turn % 2:
            self._sent = [first, TRACKED[(self._turn + 1) % 4]]
            answer = self._client.put("/api/v1/tickers", json={"symbols": self._sent})
        else:
            change = {"remove": self._known[:1], "add": [first]}
            rest = self._known[1:]
            self._sent = rest if first in rest else [*rest, first]
            answer = self._client.patch("/api/v1/tickers", json=change)
        if answer.status_code == 200:
            self._known = self._sent
        return ending(answer)

    def lost(self) -> list[str]:
        """The lists that were neither the last acknowledged nor the last sent one."""
        self._look()
        return self._gone

    def _look(self) -> None:
        """Read the list, after a change of which no answer came."""
        stored = symbols_in(self._client.get("/api/v1/tickers"))
        if stored not in (self._known, self._sent):
            self._gone.append(f"watchlist {stored} instead of {self._known}")
        self._known = self._sent = stored


class Keeping(Actor):
    """Keys: made and revoked on the page."""

    most = 9

    def __init__(self, place: Place) -> None:
        super().__init__("key", place)
        self._browser = browser_of(place)
        self._browser.sign_in(new_person(place.live).email)
        self._made: list[str] = []
        self._revoked: list[str] = []
        self._doubtful: set[str] = set()

    def act(self) -> str:
        """Make a key, or revoke one."""
        live = [key for key in self._made if key not in self._revoked]
        if len(live) > 2:
            self._doubtful.add(live[0])
            answer = self._browser.submit(form_of(self._browser, "/keys"), revoke=live[0][:16])
            if answer.status_code == 303:
                self._revoked.append(live[0])
            return ending(answer)
        if len(self._made) >= self.most:
            return ""
        answer = self._browser.submit(form_of(self._browser, "/keys"), name="Laptop")
        if secret := SECRET.search(answer.text):
            self._made.append(secret[1])
        return ending(answer)

    def lost(self) -> list[str]:
        """Keys that do not open, and revoked ones that do."""
        sure = [key for key in self._made if key not in self._doubtful]
        gone = [f"key {key[:16]}" for key in sure if not opens(self.place, key)]
        alive = [key[:16] for key in self._revoked if opens(self.place, key)]
        return gone + [f"revocation of {key}" for key in alive]


class SigningUp(Actor):
    """New accounts."""

    page, most = "/sign-up", 10

    def __init__(self, place: Place, kind: str = "account") -> None:
        super().__init__(kind, place)
        self._browsers: list[Browser] = []

    def email(self) -> str:
        """Whose form is filled in."""
        return f"new{next(numbers)}@example.com"

    def act(self) -> str:
        """Fill in the form in a new browser."""
        if len(self._browsers) > self.most:
            return ""
        browser = browser_of(self.place)
        form = form_of(browser, self.page)
        answer = browser.submit(form, email=self.email(), password=PASSWORD)
        if answer.status_code == 303:
            self._browsers.append(browser)
        return ending(answer)

    def is_signed_in(self) -> bool:
        """Whether the newest session is one."""
        return self._browsers[-1].get("/account").status_code == 200

    def lost(self) -> list[str]:
        """Accounts or sessions that are not there."""
        ends = [browser.get("/account").status_code for browser in self._browsers]
        return [f"{self.kind} ({code})" for code in ends if code != 200]


class SigningIn(SigningUp):
    """Sign-ins, each of which is a session and an audit event."""

    page, most = "/sign-in", 40

    def __init__(self, place: Place) -> None:
        super().__init__(place, "session")
        self._email = new_person(place.live).email

    def email(self) -> str:
        """Always the same person."""
        return self._email

    def lost(self) -> list[str]:
        """Sessions that are over, and sign-ins that the audit does not know."""

        async def count(database: Database) -> int:
            events = await AuditLog(database).events(kind=EventKind.SIGN_IN, limit=10_000)
            return sum(event.email == self._email for event in events)

        missing = len(self._browsers) - on_database(self.place.live, count)
        return super().lost() + [f"{missing} audit events"] * (missing > 0)


class Approving(Actor):
    """OAuth: approvals on the page, then tokens, then refreshed ones."""

    def __init__(self, place: Place) -> None:
        super().__init__("grant and tokens", place)
        self._browser = browser_of(place)
        self._browser.sign_in(new_person(place.live).email)
        self._app = new_app(place.live)
        self._client = place.client()
        self._code = ""
        self._tokens: dict[str, Any] = {}
        self._in_doubt = False
        self._made = 0

    def act(self) -> str:
        """Approve, exchange the code, and then refresh."""
        if self._made >= MAX_TOKENS:
            return ""
        if self._in_doubt:
            self._code, self._tokens = "", {}
        if not self._code:
            return self._approve()
        self._in_doubt = True
        given = {"grant_type": "refresh_token", "refresh_token": self._tokens.get("refresh_token")}
        if not self._tokens:
            given = {"grant_type": "authorization_code", "code": self._code}
            given |= {"code_verifier": VERIFIER, "redirect_uri": CALLBACK}
        answer = self._client.post("/oauth/token", data={**given, "client_id": self._app})
        if answer.status_code == 200:
            self._tokens, self._in_doubt = answer.json(), False
            self._made += 1
        elif answer.status_code >= 500:
            self._in_doubt = False  # it said that nothing was done
        return ending(answer)

    def _approve(self) -> str:
        self._in_doubt = False
        form = form_of(self._browser, authorize_address(self._app))
        answer = self._browser.submit(form, decision="approve")
        codes = parse_qs(urlsplit(answer.headers.get("location", "")).query).get("code")
        self._code = codes[0] if codes else ""
        return ending(answer)

    def opens(self) -> bool:
        """Whether the newest access token opens something."""
        return opens(self.place, self._tokens["access_token"])

    def lost(self) -> list[str]:
        """The newest tokens, if they open nothing; the newest code, if it gives none."""
        if not self._code or self._in_doubt:
            return []
        if not self._tokens:
            return [] if self.act() == "answered" else ["the approval"]
        gone = [] if self.opens() else ["access token"]
        self._made = 0
        said = self.act()
        return gone if said == "answered" else [*gone, f"refresh token ({said})"]
