"""Markdown: rendered as HTML with the headings as anchors, and tables in boxes of their own."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup

if TYPE_CHECKING:
    from markdown_it.token import Token

LONG = 40
"""A piece of code of more characters than this may break in a table; an identifier never does."""


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


ROLES = {"table": "table", "thead": "rowgroup", "tbody": "rowgroup", "tr": "row"}
"""What a table's elements are, also where they are laid out as cards."""


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
