"""Screens: a query of the scan as a page asks it, in a link and as the text that is kept of it.

A link has the parameters of the API, and those of how the page shows the rows. The text has the
same as JSON, in one spelling: it tells one saved screen from another.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

import orjson

from mcp_server.calls.decoding import JsonError, decode
from mcp_server.calls.errors import ApiError
from mcp_server.filters.scan_order import NEARNESS
from mcp_server.operations.arguments import ScanArguments, read_arguments

PATH: Final = "/screen"

DEFAULTS: Final[Mapping[str, str]] = {
    "family": "",
    "direction": "",
    "status": "",
    "max_distance_pct": "",
    "filters": "",
    "sort": NEARNESS,
    "limit": "50",
    "offset": "0",
    "view": "table",
    "columns": "",
}
"""The parameters of a link, in their order, with what each means when it is left out: without a
status it is the first tab that has rows. The last two say how the page shows the rows."""

VALUE: Final = "value"
"""The field of a link that has a condition which is still being typed."""


def parameter_text(value: object) -> str:
    """A value as a link has it; a number as people write it, and exact."""
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def address_of(parameters: Mapping[str, object]) -> str:
    """The address of the page that shows a screen."""
    given = {name: parameters[name] for name in DEFAULTS if parameters.get(name) is not None}
    texts = {name: parameter_text(value) for name, value in given.items()}
    items = [(name, text) for name, text in texts.items() if text not in ("", DEFAULTS[name])]
    return f"{PATH}?{urlencode(items)}" if items else PATH


def read_link(link: str) -> dict[str, str] | None:
    """The parameters of a link to a screen, but for the row with which its page begins; None for a
    link to anything else, and while a condition of it is being typed.
    """
    path, _, query = link.partition("?")
    last = {name: text.strip() for name, text in parse_qsl(query)}
    if not path.endswith(PATH) or last.get(VALUE):
        return None
    return {name: last[name] for name in DEFAULTS if last.get(name) and name != "offset"}


def read_text(text: str) -> dict[str, Any] | None:
    """The parameters in the text of a saved screen; None if it cannot be read."""
    try:
        found = decode(text)
    except JsonError:
        return None
    return found if isinstance(found, dict) else None


def screen_text(query: ScanArguments, shown: Mapping[str, str]) -> str:
    """The text that is kept of a query and of how its rows are shown."""
    asked = query.model_dump(exclude_unset=True, exclude_none=True, exclude={"offset"})
    merged = {**asked, **shown}
    # The order is kept always: without one, the API would take another than the page.
    kept = {
        name: merged[name]
        for name in DEFAULTS
        if merged.get(name) not in (None, "", [])
        and (name == "sort" or parameter_text(merged[name]) != DEFAULTS[name])
    }
    return orjson.dumps(kept).decode()


def query_of(parameters: Mapping[str, object] | None) -> ScanArguments | None:
    """What a screen asks the scan for; None if it cannot be run."""
    if parameters is None:
        return None
    asked = {name: parameters[name] for name in DEFAULTS if name in parameters}
    try:
        return as_shown(read_arguments(ScanArguments, {"sort": NEARNESS, **asked}))
    except ApiError:
        return None


def as_shown(query: ScanArguments) -> ScanArguments:
    """The query whose rows the page shows."""
    if query.max_distance_pct is None or query.status != "all":
        return query
    # A triggered trade is near nothing: it is shown where it is asked for by itself.
    return query.model_copy(update={"status": "forming"})
