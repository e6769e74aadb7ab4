"""Pages: renders templates, with header fields against framing, caching and foreign scripts."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from mcp_server.http.responses import HttpResponse, answer_response
from mcp_server.operations.answers import Answer
from web.assets import Assets
from web.refusals import Refusal
from web.visit import Visit

HTML = "text/html; charset=utf-8"

POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)


class Pages:
    """The templates of this package."""

    def __init__(self, assets: Assets, *, sign_up: bool) -> None:
        self._environment = Environment(
            loader=PackageLoader("web"),
            autoescape=select_autoescape(),
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.globals.update(assets=assets, sign_up=sign_up)

    def render(self, template: str, path: str, **context: object) -> str:
        """The HTML of a page that is the same for everybody."""
        return self._environment.get_template(template).render(visit=None, path=path, **context)

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
        page = self._environment.get_template(template)
        html = page.render(visit=visit, path=visit.request.url.path, refusal=refusal, **context)
        return _respond(html, refusal, redirects_off_site=redirects_off_site)


def _respond(html: str, refusal: Refusal | None, *, redirects_off_site: bool = False) -> Response:
    response = HTMLResponse(html, refusal.status if refusal else 200)
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


def public_page(request: Request, page: Answer, age: str) -> HttpResponse:
    """The response for a page that is the same for everybody."""
    response = answer_response(page, request.scope["headers"], age)
    response.headers += [(name.lower().encode(), v.encode()) for name, v in protection().items()]
    return response
