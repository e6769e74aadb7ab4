"""The interactive chart: one self-contained HTML document, which an MCP host shows beside a result,
and the script of the same chart for pages.

The document follows the MCP Apps extension of 2026-01-26. Its parts are the files of `app/`. They
are joined once, when the program starts, so that the page needs no other origin and runs under the
extension's default content security policy.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from typing import Final

import mcp_types as types
import orjson
from mcp.server.apps import APP_MIME_TYPE

from screener.telemetry.version import VERSION

PAGE_URI: Final = "ui://pattern-screener/chart"

DATA_KEY: Final = "pattern-screener/chart"
"""The key of the chart data in a result's `_meta`, which models do not read."""

_CHART: Final = ("words.js", "values.js", "drawing.js", "chart.js")
"""The chart itself, in this order: a file uses those before it."""


def chart_page() -> str:
    """The HTML of the page: `page.html` with the files and constants that it names."""
    constants = {"DATA_KEY": orjson.dumps(DATA_KEY).decode(), "VERSION": f'"{VERSION}"'}
    return re.sub(
        r"\{\{(.+)\}\}",
        lambda place: constants.get(place[1]) or _read_part(place[1]),
        _read_part("page.html"),
    )


def chart_script(page: str) -> str:
    """A script that holds the library and the chart of setups, and runs the script of a page that
    shows it: `new SetupChart(element, data, onBar)` draws chart data into an element.
    """
    library, parts = _read_part("vendor/lightweight-charts.js"), map(_read_part, _CHART)
    return "\n".join([library, '(() => {\n"use strict";', *parts, page, "})();\n"])


@cache
def page_content() -> types.TextResourceContents:
    """The page as the content of its resource. It names no origin, so that a host allows none."""
    meta = {"ui": {"prefersBorder": True}}
    return types.TextResourceContents(
        uri=PAGE_URI, mime_type=APP_MIME_TYPE, text=chart_page(), _meta=meta
    )


def _read_part(file: str) -> str:
    return (resources.files("mcp_server.mcp") / "app" / file).read_text("utf-8")
