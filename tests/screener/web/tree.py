"""A page as a tree of elements, for tests that ask where something stands."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from html.parser import HTMLParser

VOID = {"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}


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


def words(page: str) -> str:
    """The text of a page."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split()).replace(" ,", ",")
