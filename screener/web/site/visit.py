"""Visit: one request of a browser, the visitor's account, and the way back after signing in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlencode

from starlette.requests import Request

from mcp_server.calls.callers import Caller
from mcp_server.http.requests import MAX_QUERY
from screener.web.site.forms import address_of, form_token
from store.accounts.accounts import Account
from store.accounts.audit import Actor

SECRET_FIELDS = frozenset({"password", "current", "new", "token"})

MAX_TYPED = 1000
"""Characters of a field that are shown again."""

LANDING = "/keys"
MAX_TARGET = MAX_QUERY + 1024

# One leading slash without a second one, and no character that browsers drop or read as a slash:
# no backslash, white space or control character.
TARGET = re.compile(r"/(?![/\\])[!-\[\]-~]*")


@dataclass(frozen=True, slots=True)
class Visit:
    """One request of a browser, and the account of a visitor who is signed in."""

    request: Request
    secret: str = field(repr=False)
    """The session's token, or before sign-in the visit's; forms are tied to it."""
    account: Account | None = None
    browser: str | None = field(default=None, repr=False)
    """The browser's own token, if it has one."""
    form: Mapping[str, str] = field(default_factory=dict, repr=False)

    def typed(self, name: str) -> str:
        """What the visitor typed into a field of the posted form, to be shown again if the form is
        refused; a secret is never shown, and a text longer than any field takes is cut."""
        return "" if name in SECRET_FIELDS else self.form.get(name, "")[:MAX_TYPED]

    @property
    def network(self) -> str:
        """What limits count by, as `Caller.network` says."""
        caller: Caller = self.request.scope["caller"]
        return caller.network

    @property
    def actor(self) -> Actor:
        """The actor for the audit log."""
        agent = self.request.scope["caller"].client
        return Actor("owner" if self.account else "stranger", self.network, agent)

    def token(self, address: str) -> str:
        """The token of a form that posts to an address."""
        return form_token(self.secret, address)


def sign_in_address(request: Request) -> str:
    """The sign-in address that brings an anonymous visitor back to this page."""
    return "/sign-in?" + urlencode({"next": address_of(request)})


def safe_target(target: str) -> str:
    """Where a visitor goes after signing in: the target if it is a path of this site, else the
    page of keys."""
    if len(target) <= MAX_TARGET and TARGET.fullmatch(target):
        return target
    return LANDING
