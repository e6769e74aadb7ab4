"""Services that tests of several pages share, and the browser that tests of an engine share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from argon2 import PasswordHasher

from store.accounts import passwords
from store.nights.book import Book
from tests.chromium import launched, profile_of
from tests.contract.market import active_book
from tests.screener.web.browser import PASSWORD_HASH, Browser
from tests.screener.web.market import make_market
from tests.screener.web.pages import Walk, walk_over
from tests.screener.web.people import new_person, signed_in
from tests.service import Service, copy_night, serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser as Program
    from playwright.sync_api import BrowserContext


@pytest.fixture(autouse=True, scope="module")
def cheap_passwords() -> Iterator[None]:
    """Hash passwords in no time; how strong hashes are is the subject of tests/store."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passwords, "NOBODY", PASSWORD_HASH)
        patch.setattr(
            passwords, "_HASHER", PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
        )
        yield


@pytest.fixture
def book(night: Path) -> Iterator[Book]:
    """The book of the sample night."""
    with closing(active_book(night)) as opened:
        yield opened


@pytest.fixture
def browser(service: Service) -> Browser:
    """A browser in which somebody new is signed in."""
    return signed_in(service, new_person(service))


@pytest.fixture(scope="module")
def closed(night: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service of which MSFT alone is a demo symbol."""
    folder = tmp_path_factory.mktemp("closed")
    copy_night(night, folder)
    with serving(folder, demo_symbols=("MSFT",)) as live:
        yield live


@pytest.fixture(scope="module")
def open_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service on which visitors may make accounts."""
    with serving(tmp_path_factory.mktemp("open"), sign_up=True) as live:
        yield live


@pytest.fixture(scope="module")
def market(night: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A live service with a scan of many rows, whose pages are open to everybody."""
    folder = tmp_path_factory.mktemp("market")
    copy_night(night, folder)
    make_market(folder)
    with serving(folder, open_pages=True) as live:
        yield live


@pytest.fixture(scope="module")
def walk(night: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walk]:
    """The service of the walks over all pages."""
    with walk_over(night, tmp_path_factory.mktemp("walk")) as walk:
        yield walk


@pytest.fixture(scope="module")
def program() -> Iterator[Program]:
    """The system's Chromium, which the tests of a module share."""
    with launched() as browser:
        yield browser


@pytest.fixture
def chromium(program: Program) -> Iterator[BrowserContext]:
    """A fresh profile of the system's Chromium."""
    with profile_of(program) as profile:
        yield profile
