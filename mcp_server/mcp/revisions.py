"""Revisions: what a result may have in each revision of MCP, so that a client gets nothing of a
later one. Some clients refuse what their revision does not know (icons whose sizes are a list).

`structuredContent` is in every result of a tool: the interface promises it, and clients of
revisions before 2025-06-18 leave it aside.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

ASSUMED: Final = "2025-06-18"
"""The revision of a request that names none. Those before it never name one, and leave aside what
they do not know; some clients of later ones forget to.
"""

_TOOL: Final = {
    "annotations": "2025-03-26",
    **dict.fromkeys(("title", "outputSchema", "_meta"), "2025-06-18"),
    **dict.fromkeys(("icons", "execution"), "2025-11-25"),
}
_SERVER: Final = {
    "title": "2025-06-18",
    **dict.fromkeys(("icons", "websiteUrl", "description"), "2025-11-25"),
}

SINCE: Final[Mapping[str, Mapping[str, Mapping[str, str]]]] = MappingProxyType(
    {
        "initialize": {
            "serverInfo": _SERVER,
            "capabilities": {"extensions": "2026-07-28"},
        },
        "tools/list": {"tools": _TOOL},
        "resources/read": {"contents": {"_meta": "2025-06-18"}},
    }
)
"""By method and part of its result: the revision in which each member of the part began, or of each
item if the part is a list.
"""

EVERY: Final = dict.fromkeys(("resultType", "ttlMs", "cacheScope"), "2026-07-28")
"""The revision in which members of any result began."""


def fitting(method: str, revision: str, result: Mapping[str, Any]) -> Mapping[str, Any]:
    """The result of a method without what began after a revision."""
    parts = SINCE.get(method, {})
    kept = _known(result, EVERY, revision)
    for name in parts.keys() & kept.keys():
        part = kept[name]
        if isinstance(part, list):
            kept[name] = [_known(item, parts[name], revision) for item in part]
        else:
            kept[name] = _known(part, parts[name], revision)
    return kept


def _known(members: Mapping[str, Any], since: Mapping[str, str], revision: str) -> dict[str, Any]:
    # Revisions are dates, which sort as text.
    return {name: part for name, part in members.items() if since.get(name, "") <= revision}
