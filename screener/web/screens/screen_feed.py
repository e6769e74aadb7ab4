"""The feed of a saved screen: what entered it, triggered in it and left it in the last nights, as
Atom (RFC 4287) for programs that read feeds.

Its address is its only credential. It is found by the hash of the secret in it and gives no access
to anything else.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from anyio.lowlevel import checkpoint

from mcp_server.calls.errors import PageRefusal
from mcp_server.http.responses import PRIVATE, answer_response
from mcp_server.operations.answers import Answer
from mcp_server.operations.screen_changes import ScreenChanges
from mcp_server.operations.screens import query_of, read_text
from mcp_server.operations.watchlist import tracked_by
from screener.web.site.access import sees_scan
from screener.web.site.pages import PROTECTION, Page
from screener.web.site.services import WebServices
from screener.web.site.visit import Visit
from store.accounts.accounts import Account
from store.accounts.screens import SavedScreen

PATH = "/feeds/{secret}"
ATOM: Final = "application/atom+xml; charset=utf-8"
NO_FEED: Final = "There is no feed at this URL. Its owner may have replaced it."

NIGHTS: Final = 10
"""The newest nights that a feed tells of, for a reader that was away."""

MAX_ENTRIES: Final = 40
"""Entries of each kind and night; the page has more."""

Nights = Sequence[tuple[dt.date | None, ScreenChanges]]
"""The sessions of nights, the newest first, each with what changed."""


async def show(visit: Visit, web: WebServices) -> Page:
    """The feed at a secret address."""
    found = await web.screens.of_feed(visit.request.path_params["secret"])
    if found is None or not sees_scan(replace(visit, account=found[0]), web):
        raise PageRefusal(404, NO_FEED)
    account, one = found
    nights = await _nights(web, account, one)
    with web.services.active_night.pin() as book:
        status = web.pages.status(book)
    shown = {"one": one, "nights": nights, "most": MAX_ENTRIES, "night": status}
    answer = Answer(web.pages.text("screen_feed.xml", **shown).encode(), ATOM)
    response = answer_response(answer, visit.request.scope["fields"], PRIVATE)
    response.headers += PROTECTION
    return response


async def _nights(web: WebServices, account: Account, one: SavedScreen) -> Nights:
    """What changed in a screen with each of the last nights; none of one that cannot be run."""
    query, active = query_of(read_text(one.query)), web.services.active_night
    tracked = await tracked_by(account, web.services) if one.tracked_only else None
    symbols = None if tracked is None else frozenset(tracked)
    found = list[tuple[dt.date | None, ScreenChanges]]()
    with active.pin() as book:
        books = [book, *await active.nights_before(book, NIGHTS)]
        for now, before in pairwise(books) if books[1:] else [(book, None)]:
            if query is None:
                break
            found.append((now.session, web.compared.of(query, now, before, symbols)))
            await checkpoint()  # others go on in between
    return found
