"""Rivals: the same change on two servers at once, of which one may succeed; and revocations."""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import httpx

from store.accounts import Accounts
from store.database import Database
from store.keys import Keys
from store.watchlist import Watchlist
from tests.faults.serving import Serving
from tests.faults.writers import client_of, ending
from tests.oauth.conversation import Host, new_account, new_host
from tests.service import TRACKED, on_database, on_keys
from tests.topology.site import Site
from tests.topology.truth import Wrong

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


def said(answers: list[httpx.Response | None]) -> str:
    """How requests ended that were sent at once."""
    ends = sorted("no answer" if one is None else ending(one) for one in answers)
    return " and ".join(ends)


class Lists:
    """Two callers replace one watchlist, each on its server and with the ETag that both read."""

    kind = "watchlists of two"

    def __init__(self, site: Site, email: str) -> None:
        self._site, self.email = site, email
        self._key = site.key(email)
        self._clients = [client_of(server, self._key) for server in site.servers]
        self._balanced = client_of(site, self._key)
        self._random = random.Random(email)
        self.right: list[list[str]] = [list(TRACKED)]
        """What the list may be: the acknowledged one; or, after doubt, one of several."""
        self.acknowledged = 0
        self.wrong: list[Wrong] = []

    def act(self) -> str:
        """Read, and replace twice at once."""
        before = self._balanced.get("/api/v1/tickers")
        if before.status_code != 200:
            return ending(before)
        found = [row["symbol"] for row in before.json()["tickers"]]
        self._check(found)
        one, other = self._random.sample([each for each in LISTS if each != found], 2)
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
        doubtful = [wanted for wanted, answer in pairs if is_doubtful(answer)]
        self.right = won or [found, *doubtful]
        return said(answers)

    def _check(self, found: list[str]) -> None:
        if found not in self.right:
            words = f"the list of {self.email} is {found}, not {self.right}"
            self.wrong.append(Wrong("lost acknowledged writes", words))
        self.right = [found]


class Replays:
    """A code, then a refresh token, is used on two servers at once: one success at most, and what
    it gave is refused everywhere at once.
    """

    kind = "codes used twice"

    def __init__(self, site: Site) -> None:
        self._site = site
        self._host: Host | None = None
        self._turn = 0
        self.tried = 0
        self.seconds: list[float] = []
        self.wrong: list[Wrong] = []

    def act(self) -> str:
        """Use one twice."""
        if self._host is None:
            live = self._site.live()
            self._host = new_host(live, new_account(live))
        host, self._turn = self._host, self._turn + 1
        code = host.code()
        given = {"grant_type": "authorization_code", "code": code}
        if self._turn % 2:
            given |= {"code_verifier": "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"}
        else:
            tokens = host.exchange(code)
            if tokens.status_code != 200:
                return ending(tokens)
            given = {"grant_type": "refresh_token", "refresh_token": tokens.json()["refresh_token"]}
        two = [self._at(host, server) for server in random.sample(self._site.servers, 2)]
        answers = at_once(*(lambda one=one: one(given) for one in two))
        revoked = time.monotonic()
        won = [one for one in answers if one is not None and one.status_code == 200]
        self.tried += 1
        if len(won) > 1:
            self.wrong.append(Wrong("codes and tokens used twice", f"{given['grant_type']}"))
        if not won and not any(map(is_doubtful, answers)):
            self.wrong.append(Wrong("codes and tokens used twice", "nobody got tokens"))
        if len(won) == 1 and not any(map(is_doubtful, answers)):
            token = won[0].json()["access_token"]
            self.seconds.append(refused_after(self._site, token, revoked))
        return said(answers)

    @staticmethod
    def _at(host: Host, server: Serving) -> Callable[[dict[str, str]], httpx.Response]:
        def work(given: dict[str, str]) -> httpx.Response:
            form = {"client_id": host.client_id, **given}
            if host.secret:
                form["client_secret"] = host.secret
            return httpx.post(f"{server.url}/oauth/token", data=form, timeout=60)

        return work


class Revocations:
    """Keys and tokens that every server knows are revoked by the operator or by the app."""

    kind = "revocations"

    def __init__(self, site: Site) -> None:
        self._site = site
        self._host: Host | None = None
        self._numbers = itertools.count(1)
        self.seconds: list[float] = []
        self.wrong: list[Wrong] = []

    def act(self) -> str:
        """Revoke one."""
        number = next(self._numbers)
        secret, revoke = self._token() if number % 2 else self._key(number)
        if not all(opens(server, secret) for server in self._site.servers):
            return "not known everywhere"
        if not revoke():
            return "could not be revoked"
        self.seconds.append(refused_after(self._site, secret, time.monotonic()))
        return "revoked"

    def _key(self, number: int) -> tuple[str, Callable[[], bool]]:
        key = self._site.key(f"revoked{number}@example.com")

        async def work(keys: Keys) -> None:
            await keys.revoke(key[:16])

        def revoke() -> bool:
            on_keys(self._site.live(), work)
            return True

        return key, revoke

    def _token(self) -> tuple[str, Callable[[], bool]]:
        if self._host is None:
            live = self._site.live()
            self._host = new_host(live, new_account(live))
        host = self._host
        token = str(host.tokens()["access_token"])
        return token, lambda: host.revoke(token).status_code == 200


def opens(server: Serving, secret: str) -> bool:
    """Whether a key or token is accepted by a server."""
    with client_of(server, secret) as client:
        return accepts(client) is True


def accepts(client: httpx.Client) -> bool | None:
    """Whether a credential is accepted; None if that cannot be known now."""
    with suppress(httpx.HTTPError):
        status = client.get("/api/v1/me").status_code
        return {200: True, 429: True, 401: False}.get(status)
    return None


def refused_after(site: Site, secret: str, since: float) -> float:
    """Seconds after which no server accepted it any more; 20 if one always did."""

    def last(server: Serving) -> float:
        found = 0.0
        with client_of(server, secret) as client:
            while True:
                sent = time.monotonic()
                accepted = accepts(client)
                if accepted:
                    found = sent - since
                if accepted is False or sent - since > GIVES_UP:
                    return found
                time.sleep(BETWEEN)

    with ThreadPoolExecutor(len(site.servers)) as threads:
        return max(threads.map(last, site.servers))


def stored_list(site: Site, email: str) -> list[str]:
    """A watchlist as the database has it."""

    async def work(database: Database) -> list[str]:
        account = await Accounts(database).get(email)
        return await Watchlist(database).symbols(account.id)

    return on_database(site.live(), work)
