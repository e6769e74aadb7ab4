"""Cookies: the session of a signed-in visitor, the visit that ties a sign-in form to a browser, and
the browser's own token, by which an account knows a browser in which it signed in before."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

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
        """The value that the browser sent; None if it is empty or too long for a token."""
        value = _values(request).get(self.name)
        return value if value and len(value) <= MAX_TOKEN else None

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
    """Every cookie."""

    session: Cookie
    visit: Cookie
    browser: Cookie


def cookies_of(public_url: str, session_seconds: int, browser_seconds: int) -> Cookies:
    """The cookies of a service at an address."""
    secure = public_url.startswith("https://")
    prefix = "__Host-" if secure else ""
    return Cookies(
        Cookie(f"{prefix}session", secure, session_seconds),
        Cookie(f"{prefix}visit", secure),
        Cookie(f"{prefix}browser", secure, browser_seconds),
    )


def _values(request: Request) -> dict[str, str]:
    """The cookies of a request (RFC 6265 section 4.2.1); of a repeated name, the first.

    Quoted values are not decoded: no token has one, and the standard library takes quadratic time.
    """
    found: dict[str, str] = {}
    for field in request.headers.getlist("cookie"):
        for pair in field.split(";"):
            name, _, value = pair.partition("=")
            found.setdefault(name.strip(), value.strip())
    return found
