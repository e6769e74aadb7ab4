"""Signing in and out, making an account, and changing its password: what starts a session.

Each form leads back to where the visitor came from.
"""

from __future__ import annotations

from starlette.responses import RedirectResponse, Response

from mcp_server.calls.errors import PageRefusal
from mcp_server.operations.access import first_plan
from screener.web.account import keys
from screener.web.account.consent import AUTHORIZE
from screener.web.account.reauthentication import (
    BusyRefusal,
    check_password,
    hash_new,
    verify_password,
)
from screener.web.site.access import is_open
from screener.web.site.services import WebServices
from screener.web.site.visit import Visit, safe_target
from store.accounts.accounts import FIRST_EMAIL, Account
from store.errors import AccountError, StalePasswordError

SIGN_IN, SIGN_OUT, SIGN_UP, PASSWORD = "/sign-in", "/sign-out", "/sign-up", "/account/password"

WRONG = "The e-mail address or the password is not right."
UNUSABLE = "That address cannot be used: it is not an e-mail address or has an account already."


async def show(visit: Visit, web: WebServices) -> Response:
    """The form that signs in; a visitor who is signed in already is redirected at once."""
    target = safe_target(visit.request.query_params.get("next", ""))
    if visit.account is not None:
        return RedirectResponse(target, 303)
    return await _sign_in_page(visit, web, target)


async def sign_in(visit: Visit, web: WebServices) -> Response:
    """Start a session; the response does not depend on whether an account exists."""
    target = safe_target(visit.form.get("next", ""))
    try:
        account, encoded = await _prove(visit, web)
        return await _start_session(visit, web, account, encoded, target)
    except PageRefusal as refusal:
        return await _sign_in_page(visit, web, target, refusal)


async def sign_out(visit: Visit, web: WebServices) -> Response:
    """End the session."""
    if visit.account is not None:
        await web.sessions.end(visit.secret, actor=visit.actor)
    response = RedirectResponse("/", 303)
    web.cookies.session.drop(response)
    return response


async def show_sign_up(visit: Visit, web: WebServices) -> Response:
    """The form that makes an account, if the operator lets visitors make some."""
    target = safe_target(visit.request.query_params.get("next", ""))
    if visit.account is not None:
        return RedirectResponse(target, 303)
    return _sign_up_page(visit, web, target)


async def sign_up(visit: Visit, web: WebServices) -> Response:
    """Make an account, and start its first session."""
    target = safe_target(visit.form.get("next", ""))
    try:
        account, encoded = await _add_account(visit, web)
        return await _start_session(visit, web, account, encoded, target)
    except PageRefusal as refusal:
        return _sign_up_page(visit, web, target, refusal)


async def show_password(
    visit: Visit, web: WebServices, _account: Account, refusal: PageRefusal | None = None
) -> Response:
    """The form that changes the password."""
    return web.pages.respond("password.html", visit, refusal=refusal)


async def change_password(visit: Visit, web: WebServices, account: Account) -> Response:
    """Set the new password, which ends every session of the account, and start a new one."""
    form = visit.form
    encoded = await check_password(web, visit, account, form.get("current", ""))
    new = await hash_new(web, visit, form.get("new", ""), account)
    try:
        await web.accounts.set_password(
            account.email,
            new,
            replacing=encoded,
            end_access="end_access" in form,
            actor=visit.actor,
        )
    except StalePasswordError as error:
        raise PageRefusal(400, str(error)) from error
    return await _start_session(visit, web, account, new, f"{keys.PATH}?done=password")


async def _prove(visit: Visit, web: WebServices) -> tuple[Account, str]:
    """The account that the form proves, and its password hash."""
    email = visit.form.get("email", "")
    encoded = await verify_password(web, visit, email, visit.form.get("password", ""))
    if encoded is None:
        raise PageRefusal(400, WRONG)
    try:
        return await web.accounts.get(email), encoded
    except AccountError as error:  # deleted meanwhile
        raise PageRefusal(400, WRONG) from error


async def _add_account(visit: Visit, web: WebServices) -> tuple[Account, str]:
    # The service sends no e-mail, so this form must refuse a taken address and thereby reveals
    # that it is taken. It reveals no more than that: the response costs one hash either way and
    # is the same for an invalid address. Every attempt counts, even a successful one, so that
    # accounts cannot be made in bulk.
    email = visit.form.get("email", "")
    attempt = await web.sign_up_throttle.count(email, visit.network)
    try:
        encoded = await hash_new(web, visit, visit.form.get("password", ""))
    except BusyRefusal:
        await web.sign_up_throttle.give_back(attempt)
        raise
    plan = first_plan(web.services.offer)
    try:
        owner = visit.actor._replace(name="owner")
        return await web.accounts.add(email, plan, encoded, actor=owner), encoded
    except AccountError as error:
        raise PageRefusal(400, UNUSABLE) from error


async def _start_session(
    visit: Visit, web: WebServices, account: Account, password_hash: str, target: str
) -> Response:
    """Start a session under a new token, remember the browser, and go on to a page.

    The session that the browser had before ends.

    Raises:
        PageRefusal: the password was changed, or the account deleted, since it was proven.
    """
    try:
        token = await web.sessions.start(
            account.id,
            password_hash,
            replacing=visit.secret if visit.account else None,
            actor=visit.actor._replace(name="owner"),
        )
        browser = await web.browsers.remember(visit.browser, account.id)
    except (AccountError, StalePasswordError) as error:
        raise PageRefusal(400, str(error)) from error
    response = RedirectResponse(target, 303)
    web.cookies.session.set(response, token)
    web.cookies.browser.set(response, browser)
    web.cookies.visit.drop(response)
    return response


async def _sign_in_page(
    visit: Visit, web: WebServices, target: str, refusal: PageRefusal | None = None
) -> Response:
    # After sign-in, a faulty request is redirected to its app, so the form may leave the site.
    connecting = target.startswith(AUTHORIZE)
    response = web.pages.respond(
        "sign_in.html",
        visit,
        refusal=refusal,
        redirects_off_site=connecting,
        target=target,
        connecting=connecting,
        lacking=None if web.sign_up else await web.accounts.lacking(),
        local=FIRST_EMAIL if is_open(visit, web) else None,
    )
    web.cookies.visit.set(response, visit.secret)
    return response


def _sign_up_page(
    visit: Visit, web: WebServices, target: str, refusal: PageRefusal | None = None
) -> Response:
    response = web.pages.respond("sign_up.html", visit, refusal=refusal, target=target)
    web.cookies.visit.set(response, visit.secret)
    return response
