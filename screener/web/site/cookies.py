"""Cookies: the three that the pages set, for this host alone."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from store.accounts.sessions import BROWSER_LIFETIME

MAX_TOKEN = 128
"""Most characters of a cookie that is looked up."""


@dataclass(frozen=True, slots=True)
class Cookie:
    """One cookie of this host only; scripts cannot read it, and posts from other sites lack it.

    On https its name begins with `__Host-`, so that neighbouring hosts cannot set it.
    """

    name: str
    secure: bool
    max_age: int | None = None
    """Seconds; without it, the browser deletes the cookie when it closes."""

    def read(self, request: Request) -> str | None:
        """The value that the browser sent; None if it is empty or too long for a token.

        If a name is repeated, the first counts (RFC 6265 section 4.2.1). Quoted values are not
        decoded: no token has one, and the standard library takes quadratic time.
        """
        for field in request.headers.getlist("cookie"):
            for pair in field.split(";"):
                name, _, value = pair.partition("=")
                if name.strip() == self.name:
                    token = value.strip()
                    return token if token and len(token) <= MAX_TOKEN else None
        return None

    def set(self, response: Response, value: str) -> None:
        """Give the browser a value."""
        response.set_cookie(
            self.name, value, self.max_age, secure=self.secure, httponly=True, samesite="lax"
        )

    def drop(self, response: Response) -> None:
        """Delete the cookie in the browser."""
        response.delete_cookie(self.name, secure=self.secure, httponly=True, samesite="lax")


@dataclass(frozen=True, slots=True)
class Cookies:
    """The cookies of a service."""

    session: Cookie
    visit: Cookie
    """Ties the forms before sign-in to a browser."""
    browser: Cookie
    """The browser's own token, by which an account knows one in which it signed in before."""

    @classmethod
    def of(cls, public_url: str, session_lifetime: dt.timedelta) -> Cookies:
        """Those of a service at an address."""
        secure = public_url.startswith("https://")
        prefix = "__Host-" if secure else ""
        idle, known = int(session_lifetime.total_seconds()), int(BROWSER_LIFETIME.total_seconds())
        return cls(
            Cookie(f"{prefix}session", secure, idle),
            Cookie(f"{prefix}visit", secure),
            Cookie(f"{prefix}browser", secure, known),
        )
