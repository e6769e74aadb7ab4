"""Saved screens: the screens that a person keeps under a name, and what entered and left each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from starlette.responses import RedirectResponse

from store.accounts.accounts import Account
from store.accounts.screens import SCREEN_CAP, SavedScreen
from store.errors import AccountError, TooManyError, TooOftenError
from store.nights.book import Book
from web.account.proof import check_owner
from web.market.scan_query import PATH as SCREEN
from web.market.scan_query import Query, read_address
from web.market.screen_changes import ScreenChanges, screen_changes
from web.site.access import NO_PLAN, sees_scan
from web.site.pages import Page
from web.site.refusals import Refusal
from web.site.site import Site
from web.site.visit import Visit

PATH = "/screens"
ONE_PATH = "/screens/{number}"

MOST = 200
"""Setups of one list that a page shows."""

FEEDS_PER_HOUR = 20
"""Addresses of feeds that the owner of an account may make within an hour."""

BROKEN = "This screen can no longer be run. Open it to see why, and save it anew."


async def show_all(
    visit: Visit, site: Site, account: Account, refusal: Refusal | None = None
) -> Page:
    """Every screen of the account, with how much entered and left it."""
    saved = await site.screens.of_account(account.id)
    tracked = await _tracked(site, account, saved)
    seen = sees_scan(visit, site)
    with site.services.active_night.pin() as book:
        before = await site.services.active_night.compared(book) if seen else None
        changes = {one.id: changes_of(one, book, before, tracked) for one in saved if seen}
        night = site.pages.status(book)
    return site.pages.respond(
        "screens.html",
        visit,
        refusal=refusal,
        saved=saved,
        changes=changes,
        seen=seen,
        cap=SCREEN_CAP,
        night=night,
    )


async def change(visit: Visit, site: Site, account: Account) -> Page:
    """Save a screen, or remove one, depending on the form."""
    try:
        if "remove" in visit.form:
            one = await _found(site, account, visit.form["remove"])
            await site.screens.remove(account.id, one.id, actor=visit.actor)
            return RedirectResponse(PATH, 303)
        one = await _save(visit, site, account)
    except (AccountError, TooManyError) as error:
        return await show_all(visit, site, account, Refusal(400, str(error)))
    except Refusal as refusal:
        return await show_all(visit, site, account, refusal)
    return RedirectResponse(f"{PATH}/{one.id}", 303)


async def show(
    visit: Visit,
    site: Site,
    account: Account,
    *,
    refusal: Refusal | None = None,
    secret: str = "",
) -> Page:
    """One screen: what entered and left it, what is in it, and its feed."""
    one = await _found(site, account, visit.request.path_params["number"])
    if not sees_scan(visit, site):
        raise Refusal(403, NO_PLAN)
    tracked = await _tracked(site, account, [one])
    with site.services.active_night.pin() as book:
        before = await site.services.active_night.compared(book)
        changes = changes_of(one, book, before, tracked)
        night = site.pages.status(book)
    return site.pages.respond(
        "saved_screen.html",
        visit,
        refusal=refusal or (Refusal(400, BROKEN) if changes is None else None),
        one=one,
        changes=changes,
        secret=secret,
        most=MOST,
        proven=await site.sessions.is_proven(visit.secret),
        night=night,
    )


async def change_feed(visit: Visit, site: Site, account: Account) -> Page:
    """End the feed of a screen, or give it a new address and show that, which is done only once."""
    one = await _found(site, account, visit.request.path_params["number"])
    if visit.form.get("feed") == "end":
        await site.screens.end_feed(account.id, one.id, actor=visit.actor)
        return RedirectResponse(f"{PATH}/{one.id}", 303)
    try:
        await check_owner(site, visit, account)
        secret = await site.screens.new_feed(
            account.id,
            one.id,
            session=visit.secret,
            per_hour=FEEDS_PER_HOUR,
            actor=visit.actor,
        )
    except TooOftenError as error:
        return await show(visit, site, account, refusal=Refusal(429, str(error), error.wait))
    except Refusal as refusal:
        return await show(visit, site, account, refusal=refusal)
    return await show(visit, site, account, secret=secret or "")


def changes_of(
    one: SavedScreen, book: Book, before: Book | None, tracked: Sequence[str]
) -> ScreenChanges | None:
    """What changed in a saved screen; None if its address can no longer be applied."""
    query = read_address(one.address)
    if query.failed:
        return None
    return screen_changes(query, book, before, frozenset(tracked) if one.tracked_only else None)


async def _save(visit: Visit, site: Site, account: Account) -> SavedScreen:
    if not sees_scan(visit, site):
        raise Refusal(403, NO_PLAN)
    return await site.screens.save(
        account.id,
        visit.form.get("name", ""),
        _query_of(visit.form).first_page,
        tracked_only="tracked_only" in visit.form,
    )


def _query_of(form: Mapping[str, str]) -> Query:
    """The query of the screen that a form saves."""
    query = read_address(form.get("address", SCREEN))
    if query.failed:
        raise Refusal(400, "This screen cannot be run, so it was not saved.")
    return query


async def _found(site: Site, account: Account, number: str) -> SavedScreen:
    """A screen of the account, by the number in an address."""
    for one in await site.screens.of_account(account.id):
        if str(one.id) == number:
            return one
    raise Refusal(404, "You have no such saved screen.")


async def _tracked(site: Site, account: Account, saved: Sequence[SavedScreen]) -> Sequence[str]:
    """The tickers of the watchlist, if a screen is limited to it."""
    if not any(one.tracked_only for one in saved):
        return ()
    return await site.services.watchlist.symbols(account.id)
