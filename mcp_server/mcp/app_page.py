"""The chart page: one self-contained HTML document, which an MCP host shows beside a result.

It follows the MCP Apps extension, `io.modelcontextprotocol/ui` of 2026-01-26. Its parts are in
`app/`. They are joined once, when the program starts, so that the page needs no other origin and
runs under the extension's default content security policy.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

import mcp_types as types
import orjson

from mcp_server.mcp.app_parts import app_part
from telemetry.version import VERSION

PAGE_URI: Final = "ui://pattern-screener/chart"
PAGE_TYPE: Final = "text/html;profile=mcp-app"

DATA_KEY: Final = "pattern-screener/chart"
"""The key of the chart data in a result's `_meta`, which models do not read."""

_PARTS: Final = {
    "style": "page.css",
    "library": "vendor/lightweight-charts.js",
    "host": "host.js",
    "words": "words.js",
    "values": "values.js",
    "drawing": "drawing.js",
    "chart": "chart.js",
    "page": "page.js",
}


def chart_page() -> str:
    """The HTML of the page."""
    parts = {name: app_part(file) for name, file in _PARTS.items()}
    parts["data_key"] = orjson.dumps(DATA_KEY).decode()
    parts["version"] = orjson.dumps(VERSION).decode()
    return re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], app_part("page.html"))


@lru_cache(maxsize=1)
def page_content() -> types.TextResourceContents:
    """The page as the content of its resource. It names no origin, so that a host allows none."""
    meta = {"ui": {"prefersBorder": True}}
    return types.TextResourceContents(
        uri=PAGE_URI, mime_type=PAGE_TYPE, text=chart_page(), _meta=meta
    )
