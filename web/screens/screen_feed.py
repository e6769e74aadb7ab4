"""The feed of a saved screen: what entered and left it tonight, as Atom (RFC 4287) for programs
that read feeds.

Its address is its only credential. It is found by the hash of the secret in it and gives no access
to anything else.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from mcp_server.http.responses import PRIVATE, answer_response
from mcp_server.operations.answers import Answer
from web.screens.saved_screens import changes_of
from web.site.access import sees_scan
from web.site.pages import PROTECTION, Page
from web.site.refusals import Refusal
from web.site.site import Site
from web.site.visit import Visit

PATH = "/feeds/{secret}"
ATOM: Final = "application/atom+xml; charset=utf-8"
NO_FEED: Final = "There is no feed at this address. Its owner may have replaced it."

MOST: Final = 100
"""Entries of each kind; the page has more."""


async def show(visit: Visit, site: Site) -> Page:
    """The feed at a secret address."""
    found = await site.screens.of_feed(visit.request.path_params["secret"])
    if found is None or not sees_scan(replace(visit, account=found[0]), site):
        raise Refusal(404, NO_FEED)
    account, one = found
    changes, night = await changes_of([one], site, account)
    shown = {"one": one, "changes": changes[one.id], "most": MOST, "night": night}
    answer = Answer(site.pages.text("screen_feed.xml", **shown).encode(), ATOM)
    response = answer_response(answer, visit.request.scope["fields"], PRIVATE)
    response.headers += PROTECTION
    return response
