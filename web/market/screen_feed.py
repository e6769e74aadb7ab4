"""The feed of a saved screen: what entered and left it tonight, as Atom (RFC 4287) for programs
that read feeds.

Its address is its only credential. It is found by the hash of the secret in it and gives no access
to anything else.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from mcp_server.http.responses import PRIVATE, answer_response
from mcp_server.operations.answers import Answer
from store.accounts.accounts import Account
from store.accounts.credentials import FEED_SECRET
from store.accounts.screens import SavedScreen
from web.market.saved_screens import changes_of
from web.site.access import sees_scan
from web.site.pages import PROTECTION, Page
from web.site.refusals import Refusal
from web.site.site import Site
from web.site.visit import Visit

PATH = "/feeds/{secret}"

ATOM: Final = "application/atom+xml; charset=utf-8"

MOST: Final = 100
"""Entries of each kind; the page has more."""

NO_FEED = "There is no feed at this address. Its owner may have replaced it."


async def show(visit: Visit, site: Site) -> Page:
    """The feed at a secret address."""
    secret = visit.request.path_params["secret"]
    found = await site.screens.of_feed(secret) if re.fullmatch(FEED_SECRET, secret) else None
    if found is None or not sees_scan(replace(visit, account=found[0]), site):
        raise Refusal(404, NO_FEED)
    text = await _feed(site, *found)
    response = answer_response(Answer(text.encode(), ATOM), visit.request.scope["fields"], PRIVATE)
    response.headers += PROTECTION
    return response


async def _feed(site: Site, account: Account, one: SavedScreen) -> str:
    tracked = await site.services.watchlist.symbols(account.id) if one.tracked_only else ()
    with site.services.active_night.pin() as book:
        before = await site.services.active_night.compared(book)
        changes = changes_of(one, book, before, tracked)
        night = site.pages.status(book)
    return site.pages.text("screen_feed.xml", one=one, changes=changes, most=MOST, night=night)
