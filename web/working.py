"""Working: the page in place of the screen while there is no night, which shows how one is made."""

from __future__ import annotations

from starlette.responses import RedirectResponse, Response

from web.access import Access
from web.pages import Pages
from web.refusals import Refusal
from web.return_paths import sign_in_address
from web.site import Site
from web.visit import Visit

PATH = "/screen"


class WorkingPage:
    """For those who may see the scan: it turns into the screen when the first night is out."""

    def __init__(self, site: Site, pages: Pages, access: Access) -> None:
        self._site = site
        self._pages = pages
        self._access = access

    async def show(self, visit: Visit) -> Response:
        """The page."""
        if not self._access.scan(visit):
            if visit.account is None:
                return RedirectResponse(sign_in_address(visit.request), 303)
            raise Refusal(403, "Your plan does not include the scan of the whole market.")
        if self._site.services.active_night.book.session is not None:
            return RedirectResponse("/", 303)
        return self._pages.respond("working.html", visit, progress=await self._site.news.progress())
