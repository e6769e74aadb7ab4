"""The walk over all pages without a browser: what every page must be, say and lead to."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import httpx
import pytest
from starlette.routing import Route

import screener.app
from screener.app import build_app
from screener.settings import Settings
from tests.web.pages import NOT_PAGES, PAGES, Page, Walk, walk_over
from web.routes import web_routes
from web.site import Site

FIRST_PAGE_BYTES = 150_000
"""A page with all that it loads at once, as it is sent."""

DISCLAIMER = "not investment advice"
VOID = {"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}
BLOCKS = {"tr", "li", "p", "figure", "dd", "section", "caption", "figcaption", "article", "div"}
"""What holds together: a win rate and its sample and average loss stand in one of these."""

RATE = re.compile(r"\d%? (?:reached the target|win rate|won)|win rate (?:of )?\d", re.IGNORECASE)
"""A win rate in words."""


class Element:
    """An element of a page, with its children and texts in their order."""

    def __init__(self, tag: str, attributes: dict[str, str], parent: Element | None) -> None:
        self.tag, self.attributes, self.parent = tag, attributes, parent
        self.children: list[Element | str] = []

    def __iter__(self) -> Iterator[Element]:
        """The element and all in it, in the order of the page."""
        yield self
        for child in self.children:
            if isinstance(child, Element):
                yield from child

    def all(self, *tags: str) -> list[Element]:
        """The elements of some names in it."""
        return [one for one in self if one.tag in tags]

    @property
    def text(self) -> str:
        """Its words."""
        parts = [one if isinstance(one, str) else one.text for one in self.children]
        return " ".join(" ".join(parts).split())

    def above(self, *tags: str) -> Element | None:
        """The nearest element around it of some names."""
        one = self.parent
        while one is not None and one.tag not in tags:
            one = one.parent
        return one


class Document(HTMLParser):
    """A page as a tree."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.root = self._here = Element("", {}, None)
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        one = Element(tag, {name: value or "" for name, value in attrs}, self._here)
        self._here.children.append(one)
        if tag not in VOID:
            self._here = one

    def handle_endtag(self, tag: str) -> None:
        one: Element | None = self._here
        while one is not None and one.tag != tag:
            one = one.parent
        if one is not None and one.parent is not None:
            self._here = one.parent

    def handle_data(self, data: str) -> None:
        self._here.children.append(data)


@pytest.fixture(scope="module")
def walk(night: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walk]:
    """The service of the walks."""
    with walk_over(night, tmp_path_factory.mktemp("walk")) as walk:
        yield walk


@pytest.fixture(scope="module")
def answers(walk: Walk) -> dict[Page, httpx.Response]:
    """Every page, read once."""
    accept = {"Accept": "text/html"}
    return {page: walk.browsers[page.who].get(walk.address(page), headers=accept) for page in PAGES}


@pytest.fixture(scope="module")
def documents(answers: dict[Page, httpx.Response]) -> dict[Page, Element]:
    """Every page as a tree."""
    return {page: Document(answer.text).root for page, answer in answers.items()}


every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def test_every_route_of_the_pages_is_in_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new page is a row of tests/web/pages.py, and is then looked at by every walk."""
    found = list[Route]()

    def noted(site: Site, reference: str) -> list[Route]:
        found.extend(web_routes(site, reference))
        return found

    monkeypatch.setattr(screener.app, "web_routes", noted)
    build_app(Settings(data_dir=tmp_path, sign_up=True))
    paths = {route.path for route in found if not route.path.startswith("/assets/")}
    listed = {page.route for page in PAGES if page.route}

    assert paths == listed | set(NOT_PAGES)
    assert not listed & set(NOT_PAGES)


@every_page
def test_a_page_answers_as_html_in_english_with_one_headline(
    page: Page, answers: dict[Page, httpx.Response], documents: dict[Page, Element]
) -> None:
    answer, document = answers[page], documents[page]

    assert answer.status_code == page.status
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert [one.attributes["lang"] for one in document.all("html")] == ["en"]
    assert len(document.all("h1")) == len(document.all("main")) == 1
    levels = [int(one.tag[1]) for one in document.all("h1", "h2", "h3", "h4")]
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_titles_and_descriptions_tell_pages_apart(documents: dict[Page, Element]) -> None:
    heads = dict[str, dict[str, str]]()
    for page, document in documents.items():
        named = {
            one.attributes.get("name") or one.attributes.get("property", ""): one.attributes
            for one in document.all("meta")
        }
        title = document.all("title")[0].text
        described = named["description"]["content"]
        assert 25 <= len(described) <= 320, page.name
        assert named["og:description"]["content"] == described
        assert title == f"{named['og:title']['content']} · Pattern screener"
        if page.status == 200:
            heads.setdefault(urlsplit(page.path).path, {}).update(
                title=title, description=described
            )
    for kind in ("title", "description"):
        assert max(Counter(head[kind] for head in heads.values()).values()) == 1


def test_a_shared_link_has_a_preview_by_whole_addresses(
    walk: Walk, documents: dict[Page, Element]
) -> None:
    for page, document in documents.items():
        site = walk.services[page.who].url
        images = [
            one.attributes["content"]
            for one in document.all("meta")
            if one.attributes.get("property") == "og:image"
        ]
        assert len(images) == 1
        assert images[0].startswith(f"{site}/")
        assert httpx.get(images[0]).headers["content-type"] == "image/png"
        canonical = [
            one.attributes["href"]
            for one in document.all("link")
            if one.attributes.get("rel") == "canonical"
        ]
        own = site + urlsplit(walk.address(page)).path
        assert canonical == ([own] if page.status == 200 else [])


@every_page
def test_pictures_have_words_fields_have_labels_and_nothing_is_inline(
    page: Page, documents: dict[Page, Element]
) -> None:
    document = documents[page]
    labels = {one.attributes.get("for") for one in document.all("label")}

    for picture in document.all("img"):
        assert "alt" in picture.attributes
        assert {"width", "height"} <= picture.attributes.keys()
    for field in document.all("input", "select", "textarea"):
        hidden = field.attributes.get("type") == "hidden"
        unseen = field.attributes.get("aria-hidden") == "true"
        named = field.attributes.get("id") in labels or "aria-label" in field.attributes
        assert hidden or unseen or named or field.above("label"), field.attributes
    for script in document.all("script"):
        assert script.attributes.get("src", "").startswith("/assets/") or (
            script.attributes.get("type") == "application/json"
        )
    assert document.all("style") == []
    for one in document:
        assert not [name for name in one.attributes if name == "style" or name.startswith("on")]
    ids = Counter(one.attributes["id"] for one in document if "id" in one.attributes)
    assert [name for name, times in ids.items() if times > 1] == []


@every_page
def test_a_win_rate_stands_with_its_sample_and_average_loss(
    page: Page, documents: dict[Page, Element]
) -> None:
    """The content rules: a rate in words, or in a table whose row must have the others."""
    document = documents[page]

    for one in document.all("p", "li", "figcaption", "dd", "blockquote"):
        if RATE.search(one.text):
            assert re.search(r"\d+ (?:resolved )?trades?", one.text), one.text
            assert re.search(r"average loss|no loss", one.text), one.text
    for table in document.all("table"):
        heads = " ".join(head.text.lower() for head in table.all("th"))
        if "reached target" in heads or "win rate" in heads:
            assert "trades" in heads or "sample" in heads, heads
            assert "average loss" in heads, heads


@every_page
def test_a_summary_is_quoted_whole(page: Page, walk: Walk, documents: dict[Page, Element]) -> None:
    families = walk.services["stranger"].get("/families", key="").json()["families"]
    summaries = {one["track_record"]["summary"] for one in families if one["track_record"]}
    for one in documents[page].all("figcaption", "p", "dd", "td", "blockquote"):
        begun = [each for each in summaries if each.partition(";")[0] in one.text]
        assert all(each in one.text for each in begun)


@every_page
def test_a_page_with_numbers_of_a_night_names_its_session_and_the_disclaimer(
    page: Page, walk: Walk, documents: dict[Page, Element]
) -> None:
    session = walk.services["stranger"].get("/demo", key="").json()["as_of_session"]
    text = documents[page].all("main")[0].text
    shows_rates = any(
        re.search(r"reached (?:the )?target|win rate", table.text, re.IGNORECASE)
        for table in documents[page].all("table", "figcaption")
    )

    if page.night:
        assert session in text
        assert DISCLAIMER in text
    assert page.night or page.path == "/docs" or not shows_rates


def test_every_link_inside_the_site_leads_to_a_page(
    walk: Walk, documents: dict[Page, Element]
) -> None:
    """Followed by the visitor who sees it, each address once; anchors must be there as well."""
    followed = dict[tuple[str, str], httpx.Response]()
    for page, document in documents.items():
        for link in document.all("a"):
            whole = urlsplit(urljoin(walk.address(page), link.attributes["href"]))
            if f"{whole.scheme}://{whole.netloc}" != walk.services[page.who].url:
                continue
            address = whole._replace(fragment="").geturl()
            if (page.who, address) not in followed:
                headers = {"Accept": "text/html"}
                answer = walk.browsers[page.who].get(
                    address, headers=headers, follow_redirects=True
                )
                followed[page.who, address] = answer
            answer = followed[page.who, address]
            is_itself = address == walk.address(page)
            assert answer.status_code == 200 or is_itself, f"{page.name}: {address}"
            if whole.fragment and "html" in answer.headers["content-type"]:
                assert f'id="{whole.fragment}"' in answer.text, f"{page.name}: {whole.geturl()}"
    assert len(followed) > len(PAGES)


def test_a_page_and_all_that_it_loads_at_once_is_small(
    walk: Walk, answers: dict[Page, httpx.Response], documents: dict[Page, Element]
) -> None:
    """As it is sent, compressed or not: the page, its styles, scripts and pictures."""
    for page, document in documents.items():
        loaded = {
            one.attributes.get("src") or one.attributes.get("href", "")
            for one in document.all("img", "script", "link")
            if one.attributes.get("loading") != "lazy"
            and one.attributes.get("rel") not in ("canonical", "alternate")
        }
        sent = [
            walk.address(page),
            *(walk.services[page.who].url + path for path in loaded if path),
        ]
        total = sum(_sent(walk, page, address) for address in sent)
        assert total < FIRST_PAGE_BYTES, f"{page.name}: {total}"


def _sent(walk: Walk, page: Page, address: str) -> int:
    """Bytes of a body on the wire."""
    with walk.browsers[page.who].stream("GET", address) as answer:
        return sum(len(chunk) for chunk in answer.iter_raw())


def test_crawlers_are_told_what_is_private(walk: Walk) -> None:
    rules = httpx.get(f"{walk.services['stranger'].url}/robots.txt")
    lines = rules.text.splitlines()

    assert rules.headers["content-type"].startswith("text/plain")
    assert lines[0] == "User-agent: *"
    closed = tuple(line.removeprefix("Disallow: ") for line in lines if line[:3] == "Dis")
    for page in PAGES:
        if page.route and page.status == 200:
            assert page.route.startswith(closed) == _is_private(page), page.name


def _is_private(page: Page) -> bool:
    readers = {one.who for one in PAGES if one.route == page.route and one.status == 200}
    return readers == {"member"} or page.path.startswith("/sign-")
