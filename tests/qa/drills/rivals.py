"""Rivals: the same change on two servers at once, of which one may succeed; and revocations."""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import httpx

from store.accounts.accounts import Accounts
from store.accounts.watchlist import Watchlist
from store.database.database import Database
from tests.oauth.conversation import VERIFIER, Host, new_account, new_host
from tests.qa.drills.crowd import Actor
from tests.qa.drills.server import Place
from tests.qa.drills.truth import Wrong, ending
from tests.qa.drills.writers import symbols_in
from tests.service import TRACKED, on_database, on_keys

LISTS = [list(one) for size in (2, 3, 4) for one in itertools.permutations(TRACKED, size)]
GIVES_UP = 20.0
BETWEEN = 0.05
"""Seconds between two uses of what was revoked."""


def at_once(*works: Callable[[], httpx.Response]) -> list[httpx.Response | None]:
    """The answers to requests that are sent at the same moment; None where none came."""
    start = threading.Barrier(len(works))

    def one(work: Callable[[], httpx.Response]) -> httpx.Response | None:
        start.wait()
        with suppress(httpx.HTTPError):
            return work()
        return None

    with ThreadPoolExecutor(len(works)) as threads:
        return list(threads.map(one, works))


def is_doubtful(answer: httpx.Response | None) -> bool:
    """Whether nobody knows if the change was made: no answer, or one of the balancer."""
    return answer is None or answer.status_code >= 500


def said(answers: Sequence[httpx.Response | None]) -> str:
    """How requests ended that were sent at once."""
    return " and ".join(sorted("no answer" if a is None else ending(a) for a in answers))


class Lists(Actor):
    """Two callers replace one watchlist, each on its server and with the ETag that both read."""

    def __init__(self, place: Place, servers: Sequence[Place], email: str) -> None:
        super().__init__("watchlists of two", place)
        self._email, key = email, place.key(email)
        self._clients = [server.client(key) for server in servers]
        self._balanced = place.client(key)
        self._random = random.Random(email)
        self._right: list[list[str]] = [list(TRACKED)]
        """What the list may be: the acknowledged one; or, after doubt, one of several."""
        self.acknowledged = 0

    def act(self) -> str:
        """Read, and replace twice at once."""
        before = self._balanced.get("/api/v1/tickers")
        stored = symbols_in(before)
        self.wrong += [Wrong("lost acknowledged writes", words) for words in self._check(stored)]
        self._right = [stored]
        one, other = self._random.sample([each for each in LISTS if each != stored], 2)
        first, second = self._random.sample(self._clients, 2)
        tag = {"If-Match": before.headers["etag"]}
        answers = at_once(
            lambda: first.put("/api/v1/tickers", json={"symbols": one}, headers=tag),
            lambda: second.put("/api/v1/tickers", json={"symbols": other}, headers=tag),
        )
        pairs = list(zip((one, other), answers, strict=True))
        won = [wanted for wanted, answer in pairs if answer and answer.status_code == 200]
        self.acknowledged += len(won)
        if len(won) == 2:
            self.wrong.append(Wrong("lost acknowledged writes", "two replaced one list"))
        self._right = won or [stored, *(wanted for wanted, a in pairs if is_doubtful(a))]
        return said(answers)

    def _check(self, stored: list[str]) -> list[str]:
        if stored in self._right:
            return []
        return [f"the list of {self._email} is {stored}, not {self._right}"]

    def lost(self) -> list[str]:
        """The list, if the database has another one."""

        async def work(database: Database) -> list[str]:
            account = await Accounts(database).get(self._email)
            return await Watchlist(database).symbols(account.id)

        return self._check(on_database(self.place.live, work))


class Revoking(Actor):
    """Whoever revokes something, and looks how long servers accept it."""

    def __init__(self, kind: str, place: Place, servers: Sequence[Place]) -> None:
        super().__init__(kind, place)
        self.servers = servers
        self._host: Host | None = None
        self._numbers = itertools.count(1)
        self.seconds: list[float] = []
        """After which each revoked key or token was refused by all servers."""

    @property
    def host(self) -> Host:
        """An app, which registers when it is needed first."""
        if self._host is None:
            self._host = new_host(self.place.live, new_account(self.place.live))
        return self._host

    def refused(self, secret: str, since: float) -> None:
        """Note the seconds after which no server accepted it any more; 20 if one always did."""

        def last(server: Place) -> float:
            accepted_at = 0.0
            with server.client(secret) as client:
                while True:
                    sent = time.monotonic()
                    accepted = accepts(client)
                    if accepted:
                        accepted_at = sent - since
                    if accepted is False or sent - since > GIVES_UP:
                        return accepted_at
                    time.sleep(BETWEEN)

        with ThreadPoolExecutor(len(self.servers)) as threads:
            self.seconds.append(max(threads.map(last, self.servers)))


class Replays(Revoking):
    """A code, then a refresh token, is used on two servers at once: one success at most, and what
    it gave is refused everywhere at once.
    """

    tried = 0

    def act(self) -> str:
        """Use one twice."""
        given = {"grant_type": "authorization_code", "code": self.host.code()}
        if next(self._numbers) % 2:
            given["code_verifier"] = VERIFIER
        else:
            tokens = self.host.exchange(given["code"])
            if tokens.status_code != 200:
                return ending(tokens)
            given = {"grant_type": "refresh_token", "refresh_token": tokens.json()["refresh_token"]}
        two = random.sample(self.servers, 2)
        answers = at_once(*(lambda at=server: self._use(at, given) for server in two))
        revoked = time.monotonic()
        won = [one for one in answers if one is not None and one.status_code == 200]
        sure = not any(map(is_doubtful, answers))
        self.tried += 1
        if len(won) > 1 or (sure and not won):
            how = given["grant_type"] if won else "nobody got tokens"
            self.wrong.append(Wrong("codes and tokens used twice", how))
        if len(won) == 1 and sure:
            self.refused(won[0].json()["access_token"], revoked)
        return said(answers)

    def _use(self, server: Place, given: dict[str, str]) -> httpx.Response:
        form = {"client_id": self.host.client_id, **given}
        if self.host.secret:
            form["client_secret"] = self.host.secret
        return httpx.post(f"{server.url}/oauth/token", data=form, timeout=60)


class Revocations(Revoking):
    """Keys and tokens that every server knows are revoked by the operator or by the app."""

    def act(self) -> str:
        """Revoke one."""
        number = next(self._numbers)
        if number % 2:
            secret = str(self.host.tokens()["access_token"])
        else:
            secret = self.place.key(f"revoked{number}@example.com")
        if not all(accepts(server.client(secret)) for server in self.servers):
            return "not known everywhere"
        if not number % 2:
            on_keys(self.place.live, lambda keys: keys.revoke(secret[:16]))
        elif self.host.revoke(secret).status_code != 200:
            return "could not be revoked"
        self.refused(secret, time.monotonic())
        return "revoked"


def accepts(client: httpx.Client) -> bool | None:
    """Whether a credential is accepted; None if that cannot be known now."""
    with suppress(httpx.HTTPError):
        status = client.get("/api/v1/me").status_code
        return {200: True, 429: True, 401: False}.get(status)
    return None
