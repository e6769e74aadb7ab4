"""Writers: clients that change something again and again, and know what was acknowledged.

`act` makes one change and says how it ended. `lost` asks the service afterwards; a change that was
under way when the answer did not come may be there or not, and both are right.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Protocol
from urllib.parse import parse_qs, urlsplit

import httpx

from store.accounts import Plan
from store.audit import Kind
from store.database import Database
from store.events import AuditLog
from store.grants import Grants
from tests.service import Service, on_accounts, on_database
from tests.web.browser import PASSWORD, PASSWORD_HASH, Browser, Form, Forms
from tests.web.people import CALLBACK, VERIFIER, authorize_address

_numbers = itertools.count(1)
SECRET = re.compile(r'<code id="secret">([^<]+)<')
PATIENCE = 90.0
"""Seconds after which a request counts as one that hangs."""
MOST_TOKENS = 25
"""Pairs of tokens that one writer asks for."""
SYMBOLS = ("AAPL", "GOOG", "IBM", "MSFT")


class RefusedError(Exception):
    """A page that should have had a form was refused; the text says how."""


class Place(Protocol):
    """A service that writers write to."""

    @property
    def url(self) -> str:
        """Its address."""

    def live(self, key: str = "") -> Service:
        """The service as the tests' clients know it."""

    def key(self, email: str = "reader@example.com") -> str:
        """A key of a new account."""


class Writer(Protocol):
    """One kind of change."""

    kind: str

    def act(self) -> str:
        """Make a change; returns how it ended."""

    def lost(self) -> list[str]:
        """The acknowledged changes that are not there."""


def new_address() -> str:
    """A loopback address that nobody had before."""
    number = next(_numbers)
    return f"127.1.{number // 250 % 250}.{1 + number % 250}"


def client_of(serving: Place, key: str = "", address: str = "") -> httpx.Client:
    """A client with an address of its own, which opens a connection for each request."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return httpx.Client(
        transport=httpx.HTTPTransport(local_address=address or new_address()),
        base_url=serving.url,
        headers={**headers, "Connection": "close"},
        timeout=PATIENCE,
    )


def ending(answer: httpx.Response) -> str:
    """How a request ended, in words."""
    if answer.status_code < 400:
        return "answered"
    after = " with Retry-After" if "retry-after" in answer.headers else ""
    try:
        return f"{answer.status_code} {answer.json()['error']}{after}"
    except (ValueError, KeyError, TypeError):
        return f"{answer.status_code} page{after}"


def form_of(browser: Browser, address: str, action: str = "") -> Form:
    """The form of a page.

    Raises:
        RefusedError: there is no such page now.
    """
    page = browser.get(address)
    if page.status_code != 200:
        raise RefusedError(ending(page))
    return next(form for form in Forms(page.text).found if form.action == (action or address))


def new_person(live: Service) -> str:
    """The address of a new account that has the password of the tests."""
    email = f"person{next(_numbers)}@example.com"
    on_accounts(live.settings, lambda a: a.add(email, Plan.PREMIUM_PLUS, PASSWORD_HASH))
    return email


class Watching:
    """PUT and PATCH of the tickers."""

    kind = "watchlist"

    def __init__(self, serving: Place) -> None:
        self._client = client_of(serving, serving.key(f"watch{next(_numbers)}@example.com"))
        self._known, self._sent = list(SYMBOLS), list(SYMBOLS)
        self._turn = 0
        self._gone: list[str] = []

    def act(self) -> str:
        """Replace the list, or add to it and take from it, in turn."""
        if self._sent != self._known:
            self._look()
        self._turn += 1
        first = SYMBOLS[self._turn % 4]
        if self._turn % 2:
            self._sent = [first, SYMBOLS[(self._turn + 1) % 4]]
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
        answer = self._client.get("/api/v1/tickers")
        if answer.status_code != 200:
            raise RefusedError(ending(answer))
        found = [row["symbol"] for row in answer.json()["tickers"]]
        if found not in (self._known, self._sent):
            self._gone.append(f"watchlist {found} instead of {self._known}")
        self._known = self._sent = found


class Keeping:
    """Keys: made and revoked on the page."""

    kind = "key"
    most = 9

    def __init__(self, serving: Place) -> None:
        self._serving = serving
        self._browser = _browser_of(serving)
        self._browser.sign_in(new_person(serving.live()))
        self._made: list[str] = []
        self._revoked: list[str] = []
        self._doubtful: set[str] = set()

    def act(self) -> str:
        """Make a key, or revoke one."""
        live = [key for key in self._made if key not in self._revoked]
        if len(live) > 2:
            self._doubtful.add(live[0])
            form = form_of(self._browser, "/keys")
            answer = self._browser.submit(form, revoke=live[0][:16])
            if answer.status_code == 303:
                self._revoked.append(live[0])
            return ending(answer)
        if len(self._made) >= self.most:
            return ""
        answer = self._browser.submit(form_of(self._browser, "/keys"), name="Laptop")
        found = SECRET.search(answer.text)
        if found:
            self._made.append(found[1])
        return ending(answer)

    def lost(self) -> list[str]:
        """Keys that do not open, and revoked ones that do."""
        gone = [k[:16] for k in self._made if k not in self._doubtful and not self._opens(k)]
        alive = [key[:16] for key in self._revoked if self._opens(key)]
        return [f"key {key}" for key in gone] + [f"revocation of {key}" for key in alive]

    def _opens(self, key: str) -> bool:
        with client_of(self._serving, key) as client:
            return client.get("/api/v1/me").status_code == 200


class SigningIn:
    """Sign-ins, each of which is a session and an audit event."""

    kind = "session"

    def __init__(self, serving: Place) -> None:
        self._serving = serving
        self._email = new_person(serving.live())
        self._browsers: list[Browser] = []

    def act(self) -> str:
        """Sign in."""
        if len(self._browsers) > 40:
            return ""
        browser = _browser_of(self._serving)
        form = form_of(browser, "/sign-in")
        answer = browser.submit(form, email=self._email, password=PASSWORD)
        if answer.status_code == 303:
            self._browsers.append(browser)
        return ending(answer)

    def is_signed_in(self) -> bool:
        """Whether the newest session is one."""
        return self._browsers[-1].get("/account").status_code == 200

    def lost(self) -> list[str]:
        """Sessions that are over, and sign-ins that the audit does not know."""
        ends = [browser.get("/account").status_code for browser in self._browsers]
        found = [f"session ({code})" for code in ends if code != 200]
        events = _sign_ins(self._serving, self._email)
        missing = len(self._browsers) - events
        return found + [f"{missing} audit events"] * (missing > 0)


class SigningUp:
    """New accounts."""

    kind = "account"

    def __init__(self, serving: Place) -> None:
        self._serving = serving
        self._browsers: list[Browser] = []

    def act(self) -> str:
        """Make an account."""
        if len(self._browsers) > 10:
            return ""
        browser = _browser_of(self._serving)
        email = f"new{next(_numbers)}@example.com"
        form = form_of(browser, "/sign-up")
        answer = browser.submit(form, email=email, password=PASSWORD)
        if answer.status_code == 303:
            self._browsers.append(browser)
        return ending(answer)

    def lost(self) -> list[str]:
        """Accounts that are not there."""
        ends = [browser.get("/account").status_code for browser in self._browsers]
        return [f"account ({code})" for code in ends if code != 200]


class Approving:
    """OAuth: approvals on the page, then tokens, then refreshed ones."""

    kind = "grant and tokens"

    def __init__(self, serving: Place) -> None:
        self._serving = serving
        live = serving.live()
        self._browser = _browser_of(serving)
        self._browser.sign_in(new_person(live))
        self._app = f"app-{next(_numbers)}"

        async def add(database: Database) -> None:
            await Grants(database).add_client(self._app, "Host", (CALLBACK,))

        on_database(live, add)
        self._client = client_of(serving)
        self._code = ""
        self._tokens: dict[str, str] = {}
        self._in_doubt = False
        self._made = 0

    def act(self) -> str:
        """Approve, exchange the code, and then refresh."""
        if self._made >= MOST_TOKENS:
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
        answer = self._browser.submit(
            form_of(self._browser, authorize_address(self._app)),
            decision="approve",
        )
        found = parse_qs(urlsplit(answer.headers.get("location", "")).query).get("code")
        self._code = found[0] if found else ""
        return ending(answer)

    def opens(self) -> bool:
        """Whether the newest access token opens something."""
        with client_of(self._serving, self._tokens["access_token"]) as client:
            return client.get("/api/v1/me").status_code == 200

    def lost(self) -> list[str]:
        """The newest tokens, if they open nothing; the newest code, if it gives none."""
        if not self._code or self._in_doubt:
            return []
        if not self._tokens:
            return [] if self.act() == "answered" else ["the approval"]
        found = [] if self.opens() else ["access token"]
        self._made = 0
        said = self.act()
        return found if said == "answered" else [*found, f"refresh token ({said})"]


WRITERS: tuple[Callable[[Place], Writer], ...] = (
    Watching,
    Keeping,
    SigningIn,
    SigningUp,
    Approving,
)


def _browser_of(serving: Place) -> Browser:
    """A browser with an address of its own."""
    browser = Browser(serving.live(), transport=httpx.HTTPTransport(local_address=new_address()))
    browser.timeout = httpx.Timeout(PATIENCE)
    return browser


def _sign_ins(serving: Place, email: str) -> int:
    async def work(database: Database) -> int:
        events = await AuditLog(database).events(kind=Kind.SIGN_IN, limit=10_000)
        return sum(event.email == email for event in events)

    return on_database(serving.live(), work)
