"""Pages: renders templates, with header fields against framing, caching and foreign scripts.

A page that has a template `NAME.md` beside `NAME.html` is also sent as Markdown, to programs that
prefer it. Both are given the same context.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from jinja2 import BytecodeCache, Environment, PackageLoader, StrictUndefined, select_autoescape
from jinja2.bccache import Bucket
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from mcp_server.drawing.icon import icon_svg
from mcp_server.http.requests import prefers_markdown
from mcp_server.http.responses import PUBLIC_HOUR, HttpResponse, answer_response
from mcp_server.operations.answers import Answer
from store import figures, setup_words
from store.lines import harmless
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


@dataclass(frozen=True, slots=True)
class PublicPage:
    """A page that is the same for everybody, in both forms."""

    html: Answer
    markdown: Answer

    @classmethod
    def of(cls, html: str, markdown: str) -> PublicPage:
        """The page with its texts."""
        return cls(Answer(html.encode(), HTML), Answer(markdown.encode(), MARKDOWN))


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

    def render(self, template: str, path: str, /, **context: object) -> str:
        """A page that is the same for everybody."""
        return self._environment.get_template(template).render(visit=None, path=path, **context)

    def public(self, name: str, path: str, /, **context: object) -> PublicPage:
        """A page that is the same for everybody, from the templates NAME.html and NAME.md."""
        html, markdown = (
            self.render(f"{name}.{ending}", path, **context) for ending in ("html", "md")
        )
        return PublicPage.of(html, markdown)

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
        twin = template.removesuffix("html") + "md"
        has_twin = twin in self._templates
        markdown = has_twin and wants_markdown(visit.request)
        page = self._environment.get_template(twin if markdown else template)
        text = page.render(visit=visit, path=visit.request.url.path, refusal=refusal, **context)
        response = _respond(text, refusal, redirects_off_site=redirects_off_site)
        if has_twin:
            response.headers["Vary"] = "Accept"
        if markdown:
            response.headers["Content-Type"] = MARKDOWN
        return response


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
        dollars=figures.dollars,
        percent=figures.percent,
        change=figures.change,
        multiple=figures.multiple,
        signed=figures.signed,
        plain=plain,
        ratio=figures.ratio,
    )
    environment.globals["words"] = setup_words
    return environment


def plain(text: object) -> str:
    """A text as Markdown that means nothing but itself, in one line."""
    return MARKUP.sub(r"\\\g<0>", harmless(" ".join(str(text).split())))


def wants_markdown(request: Request) -> bool:
    """Whether a request prefers Markdown to HTML."""
    return prefers_markdown(request.headers.get("accept", "").encode("latin-1"))


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


class SteadyPage:
    """A page that is the same for everybody as long as the service runs, and made when it is asked
    for first.
    """

    def __init__(self, make: Callable[[], PublicPage]) -> None:
        self._make = make

    @cached_property
    def _page(self) -> PublicPage:
        return self._make()

    async def respond(self, request: Request) -> HttpResponse:
        """The page."""
        return public_page(request, self._page, PUBLIC_HOUR)


def public_page(request: Request, page: PublicPage, age: str) -> HttpResponse:
    """The response for a page that is the same for everybody."""
    form = page.markdown if wants_markdown(request) else page.html
    response = answer_response(form, request.scope["fields"], age)
    response.headers += [(name.lower().encode(), v.encode()) for name, v in protection().items()]
    response.headers.append((b"vary", b"Accept"))
    return response
