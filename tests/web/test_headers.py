"""The header fields of every page: the rows C01 to C04 of the security list."""

from __future__ import annotations

import re

import pytest

from tests.service import Service
from tests.web.browser import Browser
from tests.web.people import authorize_address, new_app, new_person, signed_in

ANONYMOUS = (
    "/",
    "/docs",
    "/privacy",
    "/terms",
    "/sign-in",
    "/sign-in?next=/keys",
    "/oauth/authorize",
)
OF_AN_ACCOUNT = ("/", "/keys", "/watchlist", "/usage", "/account/password", "/oauth/authorize")


def directives(policy: str) -> dict[str, str]:
    found = (part.strip().partition(" ") for part in policy.split(";"))
    return {name: value for name, _, value in found}


def test_no_page_can_be_framed_sniffed_or_scripted_from_elsewhere(service: Service) -> None:
    """C01 to C03: what an account sees is not kept either."""
    stranger, member = Browser(service), signed_in(service, new_person(service))
    pages = [(stranger, path) for path in ANONYMOUS] + [(member, path) for path in OF_AN_ACCOUNT]
    for browser, path in pages:
        answer = browser.get(path)
        policy = directives(answer.headers["content-security-policy"])

        assert answer.headers["content-type"] == "text/html; charset=utf-8", path
        assert policy["default-src"] == policy["base-uri"] == policy["frame-ancestors"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == policy["img-src"] == "'self'"
        assert policy["form-action"] == "'self'"
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "same-origin"
        if browser is member or path == "/sign-in":
            assert answer.headers["cache-control"] == "no-store", path


def test_the_consent_page_may_send_its_form_on_to_the_app(service: Service) -> None:
    """C04: browsers apply form-action to the redirect of a form as well."""
    address = authorize_address(new_app(service))
    signing_in = Browser(service).get(Browser(service).get(address).headers["location"])
    consent = signed_in(service, new_person(service)).get(address)

    for page in (signing_in, consent):
        policy = directives(page.headers["content-security-policy"])
        assert page.status_code == 200
        assert page.headers["cache-control"] == "no-store"
        assert policy["frame-ancestors"] == "'none'"
        assert "form-action" not in policy


@pytest.mark.parametrize("path", ["/", "/docs", "/sign-in"])
def test_a_page_loads_nothing_from_elsewhere_and_what_it_loads_is_there(
    service: Service, path: str
) -> None:
    page = Browser(service).get(path).text
    linked = re.findall(r'(?:href="(/assets/[^"]+)"|src="([^"]+)")', page)
    addresses = [asset or source for asset, source in linked]

    assert addresses
    assert not re.search(r"(?:src|action)=\"(?:https?:)?//", page)
    assert "style=" not in page
    for address in addresses:
        answer = Browser(service).get(address.replace("&amp;", "&"))
        assert answer.status_code == 200
        if address.startswith("/assets/"):
            assert "immutable" in answer.headers["cache-control"]
