"""Pages: renders templates, with header fields against framing, caching and foreign scripts.

A few pages are also sent as Markdown, to programs that prefer it: by the template `NAME.md` beside
`NAME.html`, which is given the same context. What nobody in particular reads is rendered once for
all that it depends on, and kept.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from mcp_server.calls.errors import PageRefusal
from mcp_server.http.requests import prefers_markdown
from mcp_server.http.responses import HttpResponse, answer_response
from mcp_server.operations.answers import Answer, Answers
from mcp_server.presentation.age import Age
from mcp_server.presentation.identity import icon
from screener.web.site.assets import load_assets
from screener.web.site.visit import Visit
from store.accounts.accounts import Clock
from store.ledger.ledger import Withdrawn
from store.nights.active_night import ActiveNight
from store.nights.book import Book
from store.wire import words
from store.wire.currency import money
from store.wire.method import FEW_HALF_YEARS
from store.wire.words import harmless

HTML = "text/html; charset=utf-8"
MARKDOWN = "text/markdown; charset=utf-8"

POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)

IN_MARKDOWN = frozenset({"home.html", "connect.html", "method.html", "docs.html"})
"""The pages that have a template in Markdown too."""

MARKUP = re.compile(r"[\\`*_{}\[\]<>#|~!]")
"""What may mean something to a reader of Markdown."""


Page = Response | HttpResponse
Context = Mapping[str, Any]
"""What a template shows."""


@dataclass(frozen=True, slots=True)
class NightStatus:
    """What every page says of the night that it shows."""

    session: dt.date | None
    version: str | None
    age: Age
    withdrawal: Withdrawn | None
    """The newest withdrawal, unless the night is of a later session."""
    disclaimer: str


class Pages:
    """The templates of this package, as one service shows them."""

    def __init__(
        self, active_night: ActiveNight, clock: Clock, public_url: str, *, sign_up: bool
    ) -> None:
        self._active_night = active_night
        self._clock = clock
        self._service: Context = {"public_url": public_url, "sign_up": sign_up}
        self._kept = Answers()

    def status(self, book: Book) -> NightStatus:
        """The status of a book of the active night today."""
        age = Age.of(book, self._clock().date())
        newest = next(iter(self._active_night.withdrawn), None)
        if newest and (book.session is None or newest.as_of_session < book.session):
            newest = None
        return NightStatus(book.session, book.data_version, age, newest, book.disclaimer)

    def show(
        self,
        template: str,
        visit: Visit,
        book: Book,
        make: Callable[..., Context],
        *,
        refusal: PageRefusal | None = None,
        **depends: Hashable,
    ) -> Page:
        """A page of a book's night, which is public, as `public` says, for who is not signed in.

        `make` is called with the book, which the night names, and with what else it depends on.
        """
        made, night = partial(make, book, **depends), self.status(book)
        if visit.account is None and refusal is None:
            request = visit.request
            return self.public(template, request, "no-store", made, night=night, **depends)
        context: Context = {"night": night, **depends, **made()}
        return self.respond(template, visit, refusal=refusal, **context)

    def public(
        self,
        template: str,
        request: Request,
        age: str,
        make: Callable[[], Context],
        **depends: Hashable,
    ) -> HttpResponse:
        """A page that is the same for everybody, rendered once for its path and what it depends on.

        Its template is given that, and what `make` makes of that alone, but no visit: so nothing is
        shown by which the page is not looked up. What of `depends` comes from the request has one
        spelling for each page that there is, so that copies do not fill the cache.
        """
        chosen, has_twin = _chosen(template, request)
        path = request.scope["path"]
        key = (chosen, path, *depends.values())
        answer = self._kept.get(key)
        if answer is None:
            text = self._render(chosen, path, {**depends, **make()})
            answer = Answer(text.encode(), MARKDOWN if chosen.endswith(".md") else HTML)
            self._kept.keep(key, answer)
        response = answer_response(answer, request.scope["fields"], age)
        response.headers += PROTECTION
        if has_twin:
            response.headers.append((b"vary", b"Accept"))
        return response

    def refuse(self, path: str, refusal: PageRefusal) -> Response:
        """The page of a refusal that is the same for everybody."""
        return _respond(self._render("message.html", path, {"refusal": refusal}), refusal)

    def respond(
        self,
        template: str,
        visit: Visit,
        *,
        refusal: PageRefusal | None = None,
        redirects_off_site: bool = False,
        **context: object,
    ) -> Response:
        """A page for one visitor, with the refusal if there is one.

        With `redirects_off_site` the policy omits `form-action`,
        which browsers apply to the redirects of a form too.
        """
        chosen, has_twin = _chosen(template, visit.request)
        path = visit.request.url.path
        shown: Context = {"visit": visit, "refusal": refusal, **context}
        text = self._render(chosen, path, shown)
        response = _respond(text, refusal, redirects_off_site=redirects_off_site)
        if has_twin:
            response.headers["Vary"] = "Accept"
        if chosen.endswith(".md"):
            response.headers["Content-Type"] = MARKDOWN
        return response

    def text(self, template: str, **context: object) -> str:
        """What a template that is no page makes of some values."""
        return self._render(template, "", context)

    def _render(self, template: str, path: str, context: Context) -> str:
        shown = {"visit": None, "refusal": None, **self._service, "path": path, **context}
        return environment().get_template(template).render(shown)


def download(visit: Visit, text: str, media_type: str, name: str) -> HttpResponse:
    """A file that a browser saves under a name."""
    answer = Answer(text.encode(), media_type)
    response = answer_response(answer, visit.request.scope["fields"], "no-store")
    response.headers.append((b"content-disposition", f'attachment; filename="{name}"'.encode()))
    return response


@cache
def environment() -> Environment:
    """The templates, which each process compiles once."""
    made = Environment(
        loader=PackageLoader("screener.web"),
        autoescape=select_autoescape(),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
    )
    made.filters.update(
        money=money,
        percent=words.percent,
        change=words.change,
        multiple=words.multiple,
        signed=words.signed,
        plain=plain,
    )
    made.globals.update(
        words=words,
        few=words.FEW,
        few_half_years=FEW_HALF_YEARS,
        assets=load_assets(),
        icon=Markup(icon("icon.svg").decode()),  # noqa: S704 - our own
    )
    return made


def compile_templates() -> None:
    """Compile every template now, so that nobody's page waits for it."""
    for name in environment().list_templates():
        environment().get_template(name)


def plain(text: object) -> str:
    """A text as Markdown that means nothing but itself, in one line."""
    return MARKUP.sub(r"\\\g<0>", harmless(" ".join(str(text).split())))


def _chosen(template: str, request: Request) -> tuple[str, bool]:
    """The template of the form that a request prefers, and whether there are two."""
    if template not in IN_MARKDOWN:
        return template, False
    accept = request.scope["fields"].get(b"accept", b"")
    return (template.replace(".html", ".md") if prefers_markdown(accept) else template), True


def _respond(
    text: str, refusal: PageRefusal | None, *, redirects_off_site: bool = False
) -> Response:
    response = HTMLResponse(text, refusal.status if refusal else 200)
    if refusal and refusal.retry_after:
        response.headers["Retry-After"] = str(refusal.retry_after)
    response.headers["Cache-Control"] = "no-store"
    response.headers.update(protection(redirects_off_site=redirects_off_site))
    return response


def protection(*, redirects_off_site: bool = False) -> dict[str, str]:
    """The header fields that give a page its policy and hide its address from other sites.

    The referrer policy is not `no-referrer`, since browsers then post forms with `Origin: null`.
    """
    return {
        "Content-Security-Policy": POLICY
        if redirects_off_site
        else f"{POLICY}; form-action 'self'",
        "X-Frame-Options": "DENY",
        "Referrer-Policy": "same-origin",
    }


PROTECTION = tuple((name.lower().encode(), v.encode()) for name, v in protection().items())
