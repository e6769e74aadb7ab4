"""Consent: an app asks for access to an account, and the account's owner decides, every time."""

from __future__ import annotations

from starlette.responses import RedirectResponse, Response

from mcp_server.calls.errors import PageRefusal
from oauth.authorization import AuthorizationRequest, RedirectError
from oauth.client_documents import document_host
from oauth.names import clean
from oauth.redirects import destination
from screener.web.account.reauthentication import check_owner
from screener.web.site.forms import TOKEN_FIELD, address_of, once_token, once_until
from screener.web.site.services import WebServices
from screener.web.site.visit import Visit, sign_in_address
from store.accounts.accounts import Account
from store.accounts.grants import ConsentForm

AUTHORIZE = "/oauth/authorize"
NAME_LENGTH = 60


async def show(visit: Visit, web: WebServices) -> Response:
    """Show which app asks for what; an anonymous visitor signs in first."""
    query = visit.request.query_params.multi_items()
    sign_in = RedirectResponse(sign_in_address(visit.request), 303)
    if visit.account is None and web.authorization.reads_document(query):
        return sign_in
    try:
        request = await web.authorization.check(query, visit.network)
    except RedirectError as error:
        # A broken request must not send an anonymous visitor to a client (RFC 9700 4.11.2).
        if visit.account is None:
            return sign_in
        return await _broken(visit, web, visit.account, error)
    return sign_in if visit.account is None else await _page(request, visit, web)


async def decide(visit: Visit, web: WebServices, account: Account) -> Response:
    """Approve or refuse the very request that was shown: the form's token covers its query.

    To approve takes the password too, once the sign-in is old.
    """
    decision = visit.form.get("decision")
    if decision not in ("approve", "refuse"):
        raise PageRefusal(400, "Go back, and choose Approve or Refuse.")
    try:
        request = await web.authorization.check(visit.request.query_params.multi_items())
        return await _decided(request, visit, web, account, decision)
    except RedirectError as error:
        return _to_client(error.location)


async def _page(
    request: AuthorizationRequest,
    visit: Visit,
    web: WebServices,
    refusal: PageRefusal | None = None,
) -> Response:
    address = address_of(visit.request)
    return web.pages.respond(
        "consent.html",
        visit,
        refusal=refusal,
        redirects_off_site=True,
        name=shown_name(request.client.name),
        host=document_host(request.client.client_id),
        destination=destination(request.redirect_uri),
        action=address,
        token=once_token(visit.secret, address, web.clock()),
        proven=await web.sessions.is_proven(visit.secret),
        read_only="read_only" in visit.form,
    )


async def _broken(
    visit: Visit, web: WebServices, account: Account, error: RedirectError
) -> Response:
    # Anybody may register a web site and link to a broken request: whoever follows the link
    # must not end there without having chosen to (RFC 9700 section 4.11.2).
    if await web.authorization.trusts(error, account.id):
        return _to_client(error.location)
    return web.pages.respond(
        "broken.html",
        visit,
        refusal=PageRefusal(400, f"The app's request to connect is faulty ({error.error})."),
        name=shown_name(error.client.name),
        location=error.location,
        destination=destination(error.redirect_uri),
    )


async def _decided(
    request: AuthorizationRequest, visit: Visit, web: WebServices, account: Account, decision: str
) -> Response:
    token = visit.form[TOKEN_FIELD]
    form = ConsentForm(token, once_until(token))
    if decision == "refuse":
        return _to_client(await web.authorization.refuse(request, form))
    try:
        await check_owner(web, visit, account)
    except PageRefusal as refusal:
        return await _page(request, visit, web, refusal)
    location = await web.authorization.approve(
        request,
        account.id,
        form=form,
        session=visit.secret,
        read_only="read_only" in visit.form,
        actor=visit.actor,
    )
    return _to_client(location)


def shown_name(name: str) -> str:
    """A client's own name, readable and cut to NAME_LENGTH."""
    name = clean(name)
    if len(name) > NAME_LENGTH:
        name = name[: NAME_LENGTH - 1] + "…"
    return name or "An app without a name"


def _to_client(location: str) -> Response:
    # RedirectResponse would encode the registered address again; it must stay byte for byte.
    return Response(status_code=303, headers={"Location": location, "Cache-Control": "no-store"})
