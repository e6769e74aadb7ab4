"""Notes: what CHANGELOG.md says of one version."""

from __future__ import annotations

import re

UNRELEASED = "Unreleased"


class ReleaseError(Exception):
    """Nothing can be released; the text says what to do first."""


def notes(changelog: str, heading: str) -> str:
    """The part under `## HEADING`, or `## HEADING - DATE`, as Markdown of its own.

    Raises:
        ReleaseError: there is no such heading, or nothing is under it.
    """
    found = re.search(
        rf"^## \[?{re.escape(heading)}\]?(?: - \d{{4}}-\d\d-\d\d)?\n(.*?)(?=^## |\Z)",
        changelog,
        re.MULTILINE | re.DOTALL,
    )
    if found is None:
        raise ReleaseError(
            f"CHANGELOG.md has no heading `## {heading} - DATE`; rename {UNRELEASED!r}, or try a "
            "release out with DRAFT=1."
        )
    if not found[1].strip():
        raise ReleaseError(f"CHANGELOG.md says nothing under {heading}.")
    return f"{found[1].strip()}\n"
