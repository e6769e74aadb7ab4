"""Fetch metadata: what a browser says of why it asks (W3C Fetch Metadata Request Headers).

Browsers send these fields to https and to loopback. Programs and old browsers send none.
"""

from __future__ import annotations

from collections.abc import Mapping

NESTED = frozenset({"embed", "fencedframe", "frame", "iframe", "object"})
"""Destinations of navigations within a page; no page of this site may be framed anyway."""


def is_loaded_by_another_site(headers: Mapping[str, str]) -> bool:
    """Whether a page of another site loads this as its part: a picture, a script, a frame.

    A link or a form that leads a person here does not.
    """
    if headers.get("sec-fetch-site") != "cross-site":
        return False
    is_navigation = headers.get("sec-fetch-mode", "navigate") == "navigate"
    return not is_navigation or headers.get("sec-fetch-dest") in NESTED
