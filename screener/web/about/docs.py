"""Documents: the reference with its contents, a search and samples, and texts of the operator.

They are Markdown, which is rendered as HTML with the headings as anchors, and tables in boxes of
their own. The file of samples, a request and its answer for each route and tool, is written by a
test that asks a live service; long lists and texts are cut short in it.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING

from markupsafe import Markup

from mcp_server.presentation.offer import Offer
from screener.web.site.pages import Context

if TYPE_CHECKING:
    from markdown_it.token import Token

PATH = "/docs"

HOME = "https://screener.example.com"
"""The address in the file of samples, which that of the service takes the place of."""

FILE = "samples.json"

LONG = 40
"""A piece of code of more characters than this may break in a table; an identifier never does."""


ROLES = {"table": "table", "thead": "rowgroup", "tbody": "rowgroup", "tr": "row"}
"""What a table's elements are, also where they are laid out as cards."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One request and its answer."""

    surface: str
    """`rest` or `mcp`."""
    name: str
    """`GET /scan`, or the name of a tool."""
    request: str
    answer: str

    @property
    def id(self) -> str:
        """Its anchor on the page."""
        words = "".join(c if c.isalnum() else " " for c in self.name.lower()).split()
        return "-".join(["sample", self.surface, *words])


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading below the first."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Rendered:
    """A text as HTML, and its headings of the second level."""

    html: Markup
    headings: Sequence[Heading]


def docs_page(offer: Offer, reference: Callable[[Offer], str]) -> Context:
    """What the page shows; programs have the reference alone."""
    samples, text = load_samples(offer.public_url), reference(offer)
    groups = [
        (title, [sample for sample in samples if sample.surface == surface])
        for surface, title in (("rest", "REST routes"), ("mcp", "MCP tools"))
    ]
    return {"source": text, "text": rendered(text), "groups": groups}


def text_page(title: str, source: str) -> Context:
    """What the page of a text shows, such as the terms."""
    return {"title": title, "text": rendered(source).html}


def load_samples(public_url: str) -> Sequence[Sample]:
    """The samples of a service at its address."""
    text = resources.files("screener.web").joinpath(FILE).read_text(encoding="utf-8")
    return [Sample(**row) for row in json.loads(text.replace(HOME, public_url))]


def rendered(text: str) -> Rendered:
    """Markdown as HTML; HTML in it is shown as it stands."""
    from markdown_it import MarkdownIt  # 62 modules, for a few pages

    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = markdown.parse(text)
    headings = list(_anchored(tokens))
    _mark_long_code(tokens)
    _label_cells(tokens)
    html = str(markdown.renderer.render(tokens, markdown.options, {}))
    opened = '<div class="table" tabindex="0"><table role="table">'
    html = html.replace('<table role="table">', opened).replace("</table>", "</table></div>")
    # The text was rendered with HTML switched off, so it is safe without escaping.
    return Rendered(Markup(html), headings)  # noqa: S704


def _anchored(tokens: Sequence[Token]) -> Iterator[Heading]:
    for opened, inline in itertools.pairwise(tokens):
        if opened.type == "heading_open" and opened.tag == "h2":
            name = re.sub(r"[^a-z0-9]+", "-", inline.content.lower()).strip("-")
            opened.attrSet("id", name)
            yield Heading(name, inline.content)


def _mark_long_code(tokens: Sequence[Token]) -> None:
    for token in tokens:
        for child in token.children or ():
            if child.type == "code_inline" and len(child.content) > LONG:
                child.attrSet("class", "long")


def _label_cells(tokens: Sequence[Token]) -> None:
    """Give each cell the name of its column, which a card shows."""
    names: list[str] = []
    column = 0
    for opened, inline in itertools.pairwise(tokens):
        kind = opened.type.removesuffix("_open")
        if kind in ROLES and opened.nesting == 1:
            opened.attrSet("role", ROLES[kind])
        if opened.type == "thead_open":
            names = []
        elif opened.type == "tr_open":
            column = 0
        elif opened.type == "th_open":
            opened.attrSet("role", "columnheader")
            names.append(inline.content)
        elif opened.type == "td_open":
            opened.attrSet("role", "cell")
            opened.attrSet("data-label", names[column])
            column += 1
