"""A form that is refused keeps what was typed into it, but never a password."""

from __future__ import annotations

import re

import pytest

from tests.service import Service
from tests.web.browser import PASSWORD, Browser
from tests.web.people import new_person, signed_in

TYPED, SHOWN = 'ann"><b>', "ann&#34;&gt;&lt;b&gt;"
SECRET = "a password that is not right"


def fields(page: str) -> list[str]:
    """The tags of a page's fields."""
    return re.findall(r"<(?:input|option)[^>]*>", page)


@pytest.mark.parametrize("path", ["/sign-in", "/sign-up"])
def test_a_refused_form_of_a_session_keeps_the_address_as_text(
    open_service: Service, path: str
) -> None:
    browser = Browser(open_service)
    page = browser.submit(browser.form(path), email=TYPED, password=SECRET).text

    assert f'value="{SHOWN}"' in page
    assert "<b>" not in page
    assert SECRET not in page


def test_a_refused_sign_in_goes_on_at_the_password_and_keeps_so_much_of_the_address(
    service: Service,
) -> None:
    page = Browser(service).sign_in("x" * 5000, SECRET).text
    (focused,) = (field for field in fields(page) if "autofocus" in field)

    assert 'name="password"' in focused
    assert "x" * 1000 in page
    assert "x" * 1001 not in page


def test_a_refused_change_of_the_password_keeps_the_choice_and_no_password(
    service: Service,
) -> None:
    browser = signed_in(service, new_person(service))
    form = browser.form("/account/password")
    page = browser.submit(form, current=PASSWORD, new="too short", end_access="yes").text

    assert '<input type="checkbox" name="end_access" value="yes" checked>' in fields(page)
    assert PASSWORD not in page
    assert "too short" not in page
