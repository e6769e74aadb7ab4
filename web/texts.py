"""Texts: pages of Markdown: privacy and terms."""

from __future__ import annotations

from web.markdown import rendered
from web.pages import Pages, PublicPage


def text_page(pages: Pages, path: str, title: str, text: str) -> PublicPage:
    """One page; programs may have its source."""
    html = pages.render("text.html", path, title=title, text=rendered(text).html)
    return PublicPage.of(html, text)
