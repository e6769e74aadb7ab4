"""Saved screens: the screens that a person keeps under a name, and what entered and left each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from anyio.lowlevel import checkpoint
from starlette.responses import RedirectResponse

from mcp_server.calls.errors import PageRefusal
from mcp_server.operations.screen_changes import ScreenChanges
from mcp_server.operations.screens import address_of, query_of, read_text
from mcp_server.operations.watchlist import tracked_by
from screener.web.account.reauthentication import check_owner
from screener.web.market.scan_query import read_address
from screener.web.site.access import NO_PLAN, sees_scan
from screener.web.site.pages import Context, NightStatus, Page
from screener.web.site.services import WebServices
from screener.web.site.visit import Visit
from store.accounts.accounts import Account
from store.accounts.screens import MAX_SCREENS, SavedScreen
from store.errors import AccountError, TooManyError, TooOftenError

PATH = "/screens"
ONE_PATH = "/screens/{number}"

MAX_ROWS = 200
"""Setups of one list that a page shows."""

BROKEN = "This screen can no longer be run. Open it to see why, and save it anew."

Changes = Mapping[int, ScreenChanges | None]
"""What changed in screens, by their numbers; None for one that can no longer be run."""


async def show_all(
    visit: Visit, web: WebServices, account: Account, refusal: PageRefusal | None = None
) -> Page:
    """Every screen of the account, with how much entered and left it."""
    saved, seen = await web.screens.of_account(account.id), sees_scan(visit, web)
    changes, night = await changes_of(saved if seen else (), web, account)
    shown: Context = {"saved": saved, "changes": changes, "seen": seen, "night": night}
    return web.pages.respond("screens.html", visit, refusal=refusal, cap=MAX_SCREENS, **shown)


async def change(visit: Visit, web: WebServices, account: Account) -> Page:
    """Save a screen, or remove one, depending on the form."""
    form = visit.form
    if "remove" in form:
        one = await _found(web, account, form["remove"])
        await web.screens.remove(account.id, one.id, actor=visit.actor)
        return RedirectResponse(PATH, 303)
    if not sees_scan(visit, web):
        raise PageRefusal(403, NO_PLAN)
    query, tracked_only = read_address(form.get("address", "")), "tracked_only" in form
    if query.failed:
        raise PageRefusal(400, "This screen cannot be run, so it was not saved.")
    name = form.get("name", "")
    try:
        one = await web.screens.save(account.id, name, query.kept, tracked_only=tracked_only)
    except (AccountError, TooManyError) as error:
        raise PageRefusal(400, str(error)) from error
    return RedirectResponse(f"{PATH}/{one.id}", 303)


async def show(
    visit: Visit,
    web: WebServices,
    account: Account,
    refusal: PageRefusal | None = None,
    secret: str = "",
) -> Page:
    """One screen: what entered and left it, what is in it, and its feed."""
    one = await _found(web, account, visit.request.path_params["number"])
    if not sees_scan(visit, web):
        raise PageRefusal(403, NO_PLAN)
    changes, night = await changes_of([one], web, account)
    if changes[one.id] is None:
        refusal = refusal or PageRefusal(400, BROKEN)
    proven = await web.sessions.is_proven(visit.secret)
    shown: Context = {
        "one": one,
        "address": address_of(read_text(one.query) or {}),
        "changes": changes[one.id],
        "secret": secret,
        "proven": proven,
    }
    page = "saved_screen.html"
    return web.pages.respond(page, visit, refusal=refusal, night=night, most=MAX_ROWS, **shown)


async def feed(visit: Visit, web: WebServices, account: Account) -> Page:
    """End the feed of a screen, or give it a new address and show that, which is done only once."""
    one = await _found(web, account, visit.request.path_params["number"])
    if visit.form.get("feed") == "end":
        await web.screens.end_feed(account.id, one.id, actor=visit.actor)
        return RedirectResponse(f"{PATH}/{one.id}", 303)
    await check_owner(web, visit, account)
    try:
        secret = await web.screens.new_feed(account.id, one.id, visit.secret, actor=visit.actor)
    except TooOftenError as error:
        raise PageRefusal(429, str(error), error.wait) from error
    return await show(visit, web, account, secret=secret or "")


async def changes_of(
    saved: Sequence[SavedScreen], web: WebServices, account: Account
) -> tuple[Changes, NightStatus]:
    """What changed in screens of an account with the active night, and the status of that."""
    active = web.services.active_night
    tracked = frozenset[str]()
    if any(one.tracked_only for one in saved):
        tracked = frozenset(await tracked_by(account, web.services))
    with active.pin() as book:
        before, changes = await active.compared(book), dict[int, ScreenChanges | None]()
        for one in saved:
            query, symbols = query_of(read_text(one.query)), tracked if one.tracked_only else None
            found = None if query is None else web.compared.of(query, book, before, symbols)
            changes[one.id] = found
            await checkpoint()  # others go on in between
        return changes, web.pages.status(book)


async def _found(web: WebServices, account: Account, number: str) -> SavedScreen:
    """A screen of the account, by the number in an address."""
    for one in await web.screens.of_account(account.id):
        if str(one.id) == number:
            return one
    raise PageRefusal(404, "You have no such saved screen.")
