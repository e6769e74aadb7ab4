"""Signing in and out, making an account, and changing its password: what starts a session.

Each form leads back to where the visitor came from.
"""

from __future__ import annotations

from starlette.responses import RedirectResponse, Response

from mcp_server.operations.access import first_plan
from screener.web.account import keys
from screener.web.account.consent import AUTHORIZE
from screener.web.account.proof import BusyRefusal, check_password, hash_new, verify_password
from screener.web.site.access import is_open
from screener.web.site.refusals import Refusal
from screener.web.site.site import Site
from screener.web.site.visit import Visit, safe_target
from store.accounts.accounts import FIRST_EMAIL, Account
from store.errors import AccountError, StalePasswordError

SIGN_IN, SIGN_OUT, SIGN_UP, PASSWORD = "/sign-in", "/sign-out", "/sign-up", "/account/password"

WRONG = "The e-mail address or the password is not right."
UNUSABLE = "That address cannot be used: it is not an e-mail address or has an account already."


async def show(visit: Visit, site: Site) -> Response:
    """The form that signs in; a visitor who is signed in already is redirected at once."""
    target = safe_target(visit.request.query_params.get("next", ""))
    if visit.account is not None:
        return RedirectResponse(target, 303)
    return await _sign_in_page(visit, site, target)


async def sign_in(visit: Visit, site: Site) -> Response:
    """Start a session; the response does not depend on whether an account exists."""
    target = safe_target(visit.form.get("next", ""))
    try:
        account, encoded = await _prove(visit, site)
        return await _start_session(visit, site, account, encoded, target)
    except Refusal as refusal:
        return await _sign_in_page(visit, site, target, refusal)


async def sign_out(visit: Visit, site: Site) -> Response:
    """End the session."""
    if visit.account is not None:
        await site.sessions.end(visit.secret, actor=visit.actor)
    response = RedirectResponse("/", 303)
    site.cookies.session.drop(response)
    return response


async def show_sign_up(visit: Visit, site: Site) -> Response:
    """The form that makes an account, if the operator lets visitors make some."""
    target = safe_target(visit.request.query_params.get("next", ""))
    if visit.account is not None:
        return RedirectResponse(target, 303)
    return _sign_up_page(visit, site, target)


async def sign_up(visit: Visit, site: Site) -> Response:
    """Make an account, and start its first session."""
    target = safe_target(visit.form.get("next", ""))
    try:
        account, encoded = await _add_account(visit, site)
        return await _start_session(visit, site, account, encoded, target)
    except Refusal as refusal:
        return _sign_up_page(visit, site, target, refusal)


async def show_password(visit: Visit, site: Site, _account: Account) -> Response:
    """The form that changes the password."""
    return site.pages.respond("password.html", visit)


async def change_password(visit: Visit, site: Site, account: Account) -> Response:
    """Set the new password, which ends every session of the account, and start a new one."""
    form = visit.form
    try:
        encoded = await check_password(site, visit, account, form.get("current", ""))
        new = await hash_new(site, visit, form.get("new", ""), account)
        await site.accounts.set_password(
            account.email,
            new,
            replacing=encoded,
            end_access="end_access" in form,
            actor=visit.actor,
        )
        return await _start_session(visit, site, account, new, f"{keys.PATH}?done=password")
    except StalePasswordError as error:
        return site.pages.respond("password.html", visit, refusal=Refusal(400, str(error)))
    except Refusal as refusal:
        return site.pages.respond("password.html", visit, refusal=refusal)


async def _prove(visit: Visit, site: Site) -> tuple[Account, str]:
    """The account that the form proves, and its password hash."""
    email = visit.form.get("email", "")
    encoded = await verify_password(site, visit, email, visit.form.get("password", ""))
    if encoded is None:
        raise Refusal(400, WRONG)
    try:
        return await site.accounts.get(email), encoded
    except AccountError as error:  # deleted meanwhile
        raise Refusal(400, WRONG) from error


async def _add_account(visit: Visit, site: Site) -> tuple[Account, str]:
    # The service sends no e-mail, so this form must refuse a taken address and thereby reveals
    # that it is taken. It reveals no more than that: the response costs one hash either way and
    # is the same for an invalid address. Every attempt counts, even a successful one, so that
    # accounts cannot be made in bulk.
    email = visit.form.get("email", "")
    attempt = await site.sign_up_throttle.count(email, visit.network)
    try:
        encoded = await hash_new(site, visit, visit.form.get("password", ""))
    except BusyRefusal:
        await site.sign_up_throttle.give_back(attempt)
        raise
    plan = first_plan(site.services.offer)
    try:
        owner = visit.actor._replace(name="owner")
        return await site.accounts.add(email, plan, encoded, actor=owner), encoded
    except AccountError as error:
        raise Refusal(400, UNUSABLE) from error


async def _start_session(
    visit: Visit, site: Site, account: Account, password_hash: str, target: str
) -> Response:
    """Start a session under a new token, remember the browser, and go on to a page.

    The session that the browser had before ends.

    Raises:
        Refusal: the password was changed, or the account deleted, since it was proven.
    """
    try:
        token = await site.sessions.start(
            account.id,
            password_hash,
            replacing=visit.secret if visit.account else None,
            actor=visit.actor._replace(name="owner"),
        )
        browser = await site.browsers.remember(visit.browser, account.id)
    except (AccountError, StalePasswordError) as error:
        raise Refusal(400, str(error)) from error
    response = RedirectResponse(target, 303)
    site.cookies.session.set(response, token)
    site.cookies.browser.set(response, browser)
    site.cookies.visit.drop(response)
    return response


async def _sign_in_page(
    visit: Visit, site: Site, target: str, refusal: Refusal | None = None
) -> Response:
    # After sign-in, a faulty request is redirected to its app, so the form may leave the site.
    connecting = target.startswith(AUTHORIZE)
    response = site.pages.respond(
        "sign_in.html",
        visit,
        refusal=refusal,
        redirects_off_site=connecting,
        target=target,
        connecting=connecting,
        lacking=None if site.sign_up else await site.accounts.lacking(),
        local=FIRST_EMAIL if is_open(visit, site) else None,
    )
    site.cookies.visit.set(response, visit.secret)
    return response


def _sign_up_page(
    visit: Visit, site: Site, target: str, refusal: Refusal | None = None
) -> Response:
    response = site.pages.respond("sign_up.html", visit, refusal=refusal, target=target)
    site.cookies.visit.set(response, visit.secret)
    return response
