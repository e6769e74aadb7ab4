"""An agent host that talks to a running service, so that each test reads like the protocol."""

from __future__ import annotations

import datetime as dt
import itertools
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
from authlib.oauth2.rfc7636 import create_s256_code_challenge

from oauth.authorization import Authorization, AuthorizationRequest
from oauth.clients import Clients
from oauth.metadata import resources_of
from store.accounts.accounts import AccountPlan
from store.accounts.audit import Actor
from store.accounts.grants import Grants
from store.database.database import Database
from tests.accounts import new_form
from tests.service import Service, on_database

CALLBACK = "http://127.0.0.1:33418/callback"
VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
CHALLENGE = create_s256_code_challenge(VERIFIER)

_numbers = itertools.count()


@dataclass
class LaterClock:
    """The time of the machine, or so much later."""

    later: dt.timedelta = dt.timedelta(0)

    def __call__(self) -> dt.datetime:
        return dt.datetime.now(dt.UTC) + self.later


def new_account(service: Service) -> int:
    """A new account with API access."""
    email = f"owner{next(_numbers)}@example.com"
    return service.accounts(lambda accounts: accounts.add(email, AccountPlan.PREMIUM_PLUS)).id


def authorization_of(service: Service, database: Database) -> Authorization:
    """The authorization server's own logic, as the pages call it."""
    resource, *_others = resources_of(service.settings.offer)
    grants = Grants(database)
    return Authorization(grants, resource, Clients(grants))


def request_of(client_id: str | None, /, **changes: str | None) -> list[tuple[str, str]]:
    """An authorization request of a client; None leaves a parameter out."""
    query = {
        "response_type": "code",
        "client_id": client_id,
        "redirect_uri": CALLBACK,
        "code_challenge": CHALLENGE,
        "code_challenge_method": "S256",
        "state": "xyz",
        **changes,
    }
    return [(name, value) for name, value in query.items() if value is not None]


def answer_in(location: str) -> dict[str, list[str]]:
    """The parameters in the query of a redirect."""
    return parse_qs(urlsplit(location).query, keep_blank_values=True)


def error_of(response: httpx.Response) -> tuple[int, str]:
    """Status and error code of a refusal, which is JSON that no cache keeps."""
    assert response.headers["content-type"] == "application/json"
    assert response.headers["cache-control"] == "no-store"
    return response.status_code, response.json()["error"]


@dataclass(frozen=True)
class Host:
    """A registered client, and the account of the person who uses it."""

    service: Service
    account_id: int
    client_id: str
    secret: str | None = None
    redirect_uri: str = CALLBACK

    def query(self, **changes: str | None) -> list[tuple[str, str]]:
        """An authorization request; None leaves a parameter out."""
        return request_of(self.client_id, **{"redirect_uri": self.redirect_uri, **changes})

    def check(self, query: list[tuple[str, str]]) -> AuthorizationRequest:
        """The authorization request as the server has checked it."""
        return on_database(
            self.service,
            lambda database: authorization_of(self.service, database).check(query),
        )

    def approve(self, query: list[tuple[str, str]] | None = None) -> str:
        """The address to which the browser is sent after approval."""

        async def work(database: Database) -> str:
            authorization = authorization_of(self.service, database)
            request = await authorization.check(query or self.query())
            return await authorization.approve(
                request, self.account_id, form=new_form(), actor=Actor("owner")
            )

        return on_database(self.service, work)

    def code(self) -> str:
        """A fresh code."""
        return answer_in(self.approve())["code"][0]

    def token(self, **form: str | None) -> httpx.Response:
        """A request to the token endpoint; None leaves a parameter out."""
        return self._post("/oauth/token", form)

    def exchange(self, code: str, /, **changes: str | None) -> httpx.Response:
        """Exchange a code."""
        return self.token(
            **{
                "grant_type": "authorization_code",
                "code": code,
                "code_verifier": VERIFIER,
                **changes,
            }
        )

    def tokens(self) -> dict[str, Any]:
        """A fresh pair of tokens."""
        answer: dict[str, Any] = self.exchange(self.code()).raise_for_status().json()
        return answer

    def refresh(self, refresh_token: str, /, **changes: str | None) -> httpx.Response:
        """Exchange a refresh token."""
        return self.token(
            **{"grant_type": "refresh_token", "refresh_token": refresh_token, **changes}
        )

    def revoke(self, token: str, /, **changes: str | None) -> httpx.Response:
        """Revoke a token."""
        return self._post("/oauth/revoke", {"token": token, **changes})

    def opens(self, access_token: str) -> bool:
        """Whether an access token is accepted; refused, it must prompt a new sign-in."""
        response = self.service.get("/me", key=access_token)
        if response.status_code == 200:
            return True
        assert response.status_code == 401
        assert 'error="invalid_token"' in response.headers["www-authenticate"]
        return False

    def _post(self, path: str, form: dict[str, str | None]) -> httpx.Response:
        form = {"client_id": self.client_id, "client_secret": self.secret, **form}
        given = {name: value for name, value in form.items() if value is not None}
        return httpx.post(self.service.url + path, data=given, timeout=60)


def register(service: Service, **metadata: Any) -> httpx.Response:
    """A registration; without a method of its own for a public client."""
    body = {"client_name": "Test host", "redirect_uris": [CALLBACK], **metadata}
    return httpx.post(f"{service.url}/oauth/register", json=body, timeout=30)


def new_host(service: Service, account_id: int | None = None, **metadata: Any) -> Host:
    """A host that has just registered, used by a new account or a given one."""
    client = register(service, **metadata).raise_for_status().json()
    if account_id is None:
        account_id = new_account(service)
    redirect_uri = client["redirect_uris"][0]
    return Host(service, account_id, client["client_id"], client.get("client_secret"), redirect_uri)
