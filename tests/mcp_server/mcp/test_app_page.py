"""The document of the chart page: whole, unchanged where it is vendored, and without an origin."""

from __future__ import annotations

import hashlib
import re
from importlib import resources
from pathlib import Path

import pytest

from mcp_server.mcp.app_page import DATA_KEY, chart_page
from tests.mcp_server.views import contrast

APP = Path(str(resources.files("mcp_server.mcp"))) / "app"

LIGHTWEIGHT_CHARTS = "e21cc5caa0226ef30bd8549c50b9ef926615f2a4ee6b4e486353477a55f598cf"
"""SHA-256 of `dist/lightweight-charts.standalone.production.js` in the npm package 5.2.1."""

MAX_KILOBYTES = 260


def test_the_vendored_library_is_the_published_one_and_has_its_licence() -> None:
    vendor = APP / "vendor"
    library = (vendor / "lightweight-charts.js").read_bytes()

    assert hashlib.sha256(library).hexdigest() == LIGHTWEIGHT_CHARTS
    assert b"Lightweight Charts\xe2\x84\xa2 v5.2.1" in library
    assert "5.2.1" in (vendor / "README.md").read_text("utf-8")
    assert "Apache License" in (vendor / "LICENSE.txt").read_text("utf-8")
    notice = (vendor / "NOTICE.txt").read_text("utf-8").splitlines()
    page = " ".join(re.sub(r"<[^>]+>", " ", chart_page()).split())
    assert all(" ".join(re.split(r",? +", line)[:2]) in page for line in notice)
    assert 'href="https://www.tradingview.com/"' in chart_page()


def test_the_page_is_one_document_that_loads_nothing() -> None:
    page = chart_page()

    assert page.startswith("<!doctype html>")
    assert "{{" not in page
    assert page.count("<script") == page.count("</script>") == 2
    assert not re.search(r"<(?:script|link|img|iframe|object|embed)[^>]*(?:src|href)=", page)
    assert not re.search(r"@import|url\(", (APP / "page.css").read_text("utf-8"))
    assert f'"{DATA_KEY}"' in page
    assert len(page.encode()) <= MAX_KILOBYTES * 1024


@pytest.mark.parametrize("theme", [":root", ':root[data-theme="dark"]'])
def test_every_colour_of_words_can_be_read_on_its_ground(theme: str) -> None:
    style = (APP / "page.css").read_text("utf-8")
    block = style[style.index(f"{theme} {{") :].partition("}")[0]
    found = re.findall(r"--([a-z-]+): (?:var\([^,]+, )?#([0-9a-f]{6})", block)
    colours = {name: bytes.fromhex(colour) for name, colour in found}

    for ink in ("title", "muted", "line", "trigger", "target", "stop", "entry"):
        for ground in ("paper", "panel"):
            assert contrast(colours[ink], colours[ground]) >= 4.5, (ink, ground)
    assert contrast(colours["warn"], colours["warn-paper"]) >= 4.5
    for level in ("trigger", "target", "stop", "last"):
        assert contrast(colours["on-level"], colours[level]) >= 4.5, level


def test_our_own_code_writes_text_and_never_markup() -> None:
    for file in APP.glob("*.js"):
        code = file.read_text("utf-8")
        assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", code)
        assert not re.search(r"\bfetch\(|XMLHttpRequest|WebSocket|localStorage|cookie", code)
