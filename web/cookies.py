"""Cookies: the session of who signed in, and the visit that ties a sign-in form to its browser."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

MAX_TOKEN = 128
"""Characters of a cookie that are worth looking up."""


@dataclass(frozen=True, slots=True)
class Cookie:
    """One cookie of this host alone, out of reach of scripts and of other sites' requests.

    On https its name begins with `__Host-`, which keeps neighbouring hosts from setting it.
    """

    name: str
    secure: bool
    max_age: int | None = None
    """Seconds; without it the cookie goes when the browser closes."""

    def read(self, request: Request) -> str | None:
        """What the browser sent, if it can be a token at all."""
        value = request.cookies.get(self.name)
        return value if value and len(value) <= MAX_TOKEN else None

    def set(self, response: Response, value: str) -> None:
        """Give the browser a value."""
        response.set_cookie(
            self.name, value, self.max_age, secure=self.secure, httponly=True, samesite="lax"
        )

    def drop(self, response: Response) -> None:
        """Take the cookie back."""
        response.delete_cookie(self.name, secure=self.secure, httponly=True, samesite="lax")


@dataclass(frozen=True, slots=True)
class Cookies:
    """Both cookies."""

    session: Cookie
    visit: Cookie


def cookies_of(public_url: str, session_seconds: int) -> Cookies:
    """The cookies of a service at an address."""
    secure = public_url.startswith("https://")
    prefix = "__Host-" if secure else ""
    return Cookies(
        Cookie(f"{prefix}session", secure, session_seconds), Cookie(f"{prefix}visit", secure)
    )
