"""The walk over all pages without a browser: what every page must be, say and lead to.

Over 400 lines, because every rule is tried on the pages that one walk has read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import httpx
import pytest
from starlette.routing import Route

import screener.service.app
from mcp_server.presentation.offer import Offer
from screener.service.app import build_app
from screener.settings.settings import Settings
from screener.web.routes import web_routes
from screener.web.site.pages import plain
from screener.web.site.services import WebServices
from tests.screener.web.browser import Browser
from tests.screener.web.pages import NOT_PAGES, PAGES, Page, Walk
from tests.screener.web.people import new_person, signed_in
from tests.screener.web.tree import Document, Element
from tests.service import serving

FIRST_PAGE_BYTES = 150_000
"""A page with all that it loads at once, as it is sent."""

DISCLAIMER = "not investment advice"
RATE = re.compile(r"\d%? (?:reached the target|win rate|won)|win rate (?:of )?\d", re.IGNORECASE)
"""A win rate in words."""

RATE_NAME = re.compile(r"reached (?:the )?target|win rate|\bwon\b", re.IGNORECASE)
"""A name under which win rates stand."""

SAMPLE = re.compile(r"\d+ (?:resolved |bullish |bearish )?trades?")
SAMPLE_NAME = re.compile("trades|sample", re.IGNORECASE)
IN_ONE = re.compile(r"[\d.,]+%(?: \([\d.,]+%\))?, [\d,]+, -[\d.,]+%")
"""A rate, that of random entries, the sample and the average loss, whose heading names them."""

LOSS = re.compile("average loss|avg loss|no loss", re.IGNORECASE)

MARKDOWN = {"Accept": "text/markdown, text/html;q=0.5"}

TEXTS = ("p", "li", "figcaption", "dd", "td", "blockquote")

WITH_RATES = {"/", "/screen", "/symbols/{symbol}", "/families", "/families/{family}", "/method"}
"""Pages of which it is known that they show win rates."""

IN_MARKDOWN = {"/", "/method", "/connect", "/docs"}


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
    """A new page is a row of tests/screener/web/pages.py, and is then looked at by every walk."""
    found = list[Route]()

    def noted(site: WebServices, reference: Callable[[Offer], str]) -> list[Route]:
        found.extend(web_routes(site, reference))
        return found

    monkeypatch.setattr(screener.service.app, "web_routes", noted)
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
    if page.route in IN_MARKDOWN:
        assert "Accept" in answer.headers["vary"].replace("Accept-Encoding", "")
    assert [one.attributes["lang"] for one in document.all("html")] == ["en"]
    assert len(document.all("h1")) == len(document.all("main")) == 1
    levels = [int(one.tag[1]) for one in document.all("h1", "h2", "h3", "h4")]
    assert all(after <= before + 1 for before, after in pairwise(levels))


@every_page
def test_no_page_can_be_framed_sniffed_or_scripted_from_elsewhere(
    page: Page, answers: dict[Page, httpx.Response]
) -> None:
    """What an account sees is not kept either, and consent leads on to its app."""
    fields = answers[page].headers
    parts = (part.strip().partition(" ") for part in fields["content-security-policy"].split(";"))
    policy = {name: value for name, _, value in parts}

    assert policy["default-src"] == policy["base-uri"] == policy["frame-ancestors"] == "'none'"
    assert policy.get("script-src", "'self'") == "'self'"
    assert policy["style-src"] == policy["img-src"] == "'self'"
    assert policy.get("form-action") == (None if page.address == "{app}" else "'self'")
    assert fields["x-frame-options"] == "DENY"
    assert fields["x-content-type-options"] == "nosniff"
    assert fields["referrer-policy"] == "same-origin"
    assert ("set-cookie" in fields) == (page.route in ("/sign-in", "/sign-up"))
    if page.who == "member" or page.path == "/sign-in" or page.status != 200:
        assert fields["cache-control"] == "no-store"


def test_no_form_is_taken_from_another_site_or_without_the_token_of_this_browser(
    walk: Walk, documents: dict[Page, Element]
) -> None:
    """Tried on every form that any page shows."""
    forms = {
        (page.who, form.attributes["action"]): form
        for page, document in documents.items()
        for form in document.all("form")
        if form.attributes.get("method") == "post"
    }
    elsewhere = (
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    )
    for (who, action), form in forms.items():
        given = {
            one.attributes["name"]: one.attributes.get("value", "")
            for one in form.all("input", "button")
            if "name" in one.attributes
        }
        assert len(given["token"]) >= 64
        forged: tuple[dict[str, str], ...] = ({"token": ""}, {"token": "0" * 64}, {"token": "é"})
        for headers, fields in (*((one, {}) for one in elsewhere), *(({}, one) for one in forged)):
            answer = walk.browsers[who].post(action, data={**given, **fields}, headers=headers)
            assert answer.status_code == 403, (action, headers, fields)
        stolen = Browser(walk.services[who]).post(action, data=given)
        led_away = stolen.headers.get("location", "").startswith("/sign-in?next=")
        assert stolen.status_code == 403 or led_away, action

    shown = {urlsplit(action).path for _, action in forms}
    routes = {"/sign-in", "/sign-up", "/sign-out", "/account", "/account/password", "/keys"}
    saved = {"/screens", "/screens/1"}
    assert shown == {*routes, *saved, "/watchlist", "/symbols/GOOG", "/oauth/authorize"}
    assert "laptop" in walk.browsers["member"].get("/keys").text


def test_before_the_first_night_every_page_says_so(tmp_path: Path) -> None:
    queries = ("", "?sort=distance&filters=[]", "?limit=x")
    with serving(tmp_path) as live:
        member = signed_in(live, new_person(live, tracked=("AAPL",)))
        for path in (
            *("/", "/method", "/status", "/families/triangle", "/symbols", "/changes"),
            *(f"/screen{query}" for query in queries),
        ):
            answer = member.get(path)
            assert answer.status_code == 200, path
            assert "There is no night yet" in answer.text, path
            assert "<img" not in answer.text
        for path in ("/", "/method"):
            markdown = member.get(path, headers={"Accept": "text/markdown"})
            assert "There is no night yet" in markdown.text, path
        assert member.get("/families").status_code == 200
        assert member.get("/symbols/AAPL").status_code == 404
        assert "no data yet" in member.get("/watchlist").text


def test_every_page_has_the_same_head_and_links_to_privacy_and_terms(
    documents: dict[Page, Element],
) -> None:
    heads = set()
    for document in documents.values():
        (head,) = (one for one in document.all("header") if one.attributes.get("class") == "top")
        heads.add(tuple((one.text, one.attributes["href"]) for one in head.all("a")))
        (search,) = head.all("form")
        assert search.attributes["role"] == "search"
        assert [one.attributes["name"] for one in search.all("input")] == ["search"]
        assert {"/privacy", "/terms"} <= {one.attributes["href"] for one in document.all("a")}
    assert len(heads) == 1


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
    previews = set[str]()
    for page, document in documents.items():
        site = walk.services[page.who].url
        [image] = [
            one.attributes["content"]
            for one in document.all("meta")
            if one.attributes.get("property") == "og:image"
        ]
        assert image.startswith(f"{site}/")
        previews.add(image)
        canonical = [
            one.attributes["href"]
            for one in document.all("link")
            if one.attributes.get("rel") == "canonical"
        ]
        own = site + urlsplit(walk.address(page)).path
        assert canonical == ([own] if page.status == 200 else [])
    for image in previews:
        answer = walk.browsers["stranger"].get(image)
        assert answer.headers["content-type"] == "image/png"


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
    for head in document.all("th"):
        assert "scope" in head.attributes or head.attributes.get("role") == "columnheader"
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
    """The content rules: a rate in words, or under a name that the sample and the loss stand by."""
    document = documents[page]
    texts = [one.text for one in document.all(*TEXTS) if RATE.search(one.text)]
    names = [
        *(" ".join(head.text for head in table.all("th")) for table in document.all("table")),
        *(" ".join(term.text for term in terms.all("dt")) for terms in document.all("dl")),
    ]
    named = [each for each in names if RATE_NAME.search(each)]

    for text in texts:
        assert SAMPLE.search(text), text
        assert LOSS.search(text), text
    for each in named:
        assert SAMPLE_NAME.search(each), each
        assert LOSS.search(each), each
    assert texts or named or page.route not in WITH_RATES or page.status != 200


def test_pages_without_a_template_in_markdown_are_html_whatever_is_preferred(walk: Walk) -> None:
    for page in PAGES:
        answer = walk.browsers[page.who].get(walk.address(page), headers=MARKDOWN)
        is_markdown = answer.headers["content-type"].startswith("text/markdown")
        assert is_markdown == (page.route in IN_MARKDOWN), page.name


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.route in IN_MARKDOWN], ids=lambda page: page.name
)
def test_the_content_rules_hold_in_markdown_too(page: Page, walk: Walk) -> None:
    answer = walk.browsers[page.who].get(walk.address(page), headers=MARKDOWN)
    demo = walk.services["stranger"].get("/demo", key="").json()
    lines = answer.text.splitlines()
    said = [line for line in lines if RATE.search(line) and "|" not in line]
    named = [head for head, rule in pairwise(lines) if "| ---" in rule and RATE_NAME.search(head)]

    assert "Accept" in answer.headers["vary"].replace("Accept-Encoding", "")
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
    assert answer.text.startswith("# ")
    assert "<div" not in answer.text
    if page.route != "/docs":
        for line in said:
            assert SAMPLE.search(line), line
            assert LOSS.search(line), line
        for head in named:
            assert SAMPLE_NAME.search(head), head
            assert LOSS.search(head), head
    if page.night:
        assert demo["as_of_session"] in answer.text
        assert plain(demo["disclaimer"]) in answer.text
    assert said or named or page.route not in WITH_RATES


@every_page
def test_the_average_loss_stands_in_the_cell_of_the_win_rate(
    page: Page, documents: dict[Page, Element]
) -> None:
    """A narrow screen shows a part of a wide table, and never a win rate without what a loss costs.

    The loss may have a column of its own, before that of the rate.
    """
    for table in documents[page].all("table"):
        heads = [head.text for head in table.all("thead")[0].all("th")]
        places = [place for place, head in enumerate(heads) if RATE_NAME.search(head)]
        for row in table.all("tbody")[0].all("tr"):
            cells = [cell.text for cell in row.all("th", "td")]
            for place in places:
                words = (
                    f"{heads[place]} {cells[place]}"
                    if IN_ONE.fullmatch(cells[place])
                    else cells[place]
                )
                is_before = bool(place) and LOSS.search(heads[place - 1])
                assert is_before or LOSS.search(words) or not cells[place]


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
        live = [one for one in documents[page] if one.attributes.get("id") == "live"]
        assert len(live) == (page.path != "/method"), "it tells that a newer night is out"
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
        assert answer.status_code == (page.status if address == walk.address(page) else 200)
        assert "/assets/" not in address or "immutable" in answer.headers["cache-control"]
        return sum(len(chunk) for chunk in answer.iter_raw())


def test_crawlers_are_told_what_is_private(walk: Walk) -> None:
    rules = walk.browsers["stranger"].get("/robots.txt")
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
