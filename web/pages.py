"""Pages: renders templates, with header fields against framing, caching and foreign scripts.

A page that has a template `NAME.md` beside `NAME.html` is also sent as Markdown, to programs that
prefer it. Both are given the same context. What nobody in particular reads is rendered once for all
that it depends on, and kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping
from typing import Any

from jinja2 import BytecodeCache, Environment, PackageLoader, StrictUndefined, select_autoescape
from jinja2.bccache import Bucket
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from mcp_server.drawing.icon import icon_svg
from mcp_server.http.requests import prefers_markdown
from mcp_server.http.responses import HttpResponse, answer_response
from mcp_server.operations.answers import Answer, Answers
from store.wire import words
from store.wire.words import harmless
from web.assets import Assets
from web.refusals import Refusal
from web.visit import Visit

HTML = "text/html; charset=utf-8"
MARKDOWN = "text/markdown; charset=utf-8"

POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)

MARKUP = re.compile(r"[\\`*_{}\[\]<>#|~!]")
"""What may mean something to a reader of Markdown."""


Page = Response | HttpResponse
Context = Mapping[str, Any]
"""What a template shows."""


class Pages:
    """The templates of this package."""

    def __init__(self, assets: Assets, *, sign_up: bool, public_url: str = "") -> None:
        self._environment = _environment()
        self._environment.globals.update(
            assets=assets,
            icon=Markup(icon_svg().decode()),  # noqa: S704 - our own
            sign_up=sign_up,
            public_url=public_url,
        )
        self._templates = frozenset(self._environment.list_templates())
        self._kept = Answers()

    def render(self, template: str, path: str, /, **context: object) -> str:
        """A page that is the same for everybody."""
        return self._environment.get_template(template).render(visit=None, path=path, **context)

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
        chosen, has_twin = self._chosen(template, request)
        path = request.scope["path"]
        key = (chosen, path, *depends.values())
        answer = self._kept.get(key)
        if answer is None:
            text = self.render(chosen, path, refusal=None, **depends, **make())
            answer = Answer(text.encode(), MARKDOWN if chosen.endswith(".md") else HTML)
            self._kept.keep(key, answer)
        response = answer_response(answer, request.scope["fields"], age)
        response.headers += PROTECTION
        if has_twin:
            response.headers.append((b"vary", b"Accept"))
        return response

    def refuse(self, path: str, refusal: Refusal) -> Response:
        """The page of a refusal that is the same for everybody."""
        html = self.render("message.html", path, refusal=refusal)
        return _respond(html, refusal)

    def respond(
        self,
        template: str,
        visit: Visit,
        *,
        refusal: Refusal | None = None,
        redirects_off_site: bool = False,
        **context: object,
    ) -> Response:
        """A page for one visitor, with the refusal if there is one.

        With `redirects_off_site` the policy omits `form-action`,
        which browsers apply to the redirects of a form too.
        """
        chosen, has_twin = self._chosen(template, visit.request)
        page = self._environment.get_template(chosen)
        text = page.render(visit=visit, path=visit.request.url.path, refusal=refusal, **context)
        response = _respond(text, refusal, redirects_off_site=redirects_off_site)
        if has_twin:
            response.headers["Vary"] = "Accept"
        if chosen.endswith(".md"):
            response.headers["Content-Type"] = MARKDOWN
        return response

    def _chosen(self, template: str, request: Request) -> tuple[str, bool]:
        """The template of the form that a request prefers, and whether there are two."""
        twin = template.removesuffix("html") + "md"
        if twin not in self._templates:
            return template, False
        accept = request.scope["fields"].get(b"accept", b"")
        return twin if prefers_markdown(accept) else template, True


class Compiled(BytecodeCache):
    """The compiled templates of this process, so that each is compiled once."""

    def __init__(self) -> None:
        self._kept: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        """Take what was compiled, if it was."""
        if found := self._kept.get(bucket.key):
            bucket.bytecode_from_string(found)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep what was compiled."""
        self._kept[bucket.key] = bucket.bytecode_to_string()


COMPILED = Compiled()


def compile_templates() -> None:
    """Compile every template now, so that nobody's page waits for it."""
    environment = _environment()
    for name in environment.list_templates():
        environment.get_template(name)


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("web"),
        autoescape=select_autoescape(),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        bytecode_cache=COMPILED,
    )
    environment.filters.update(
        dollars=words.dollars,
        percent=words.percent,
        change=words.change,
        multiple=words.multiple,
        signed=words.signed,
        plain=plain,
        ratio=words.ratio,
    )
    environment.globals["words"] = words
    return environment


def plain(text: object) -> str:
    """A text as Markdown that means nothing but itself, in one line."""
    return MARKUP.sub(r"\\\g<0>", harmless(" ".join(str(text).split())))


def _respond(text: str, refusal: Refusal | None, *, redirects_off_site: bool = False) -> Response:
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
