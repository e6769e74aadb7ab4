"""Version: of the program. Nothing else states it; the build and the release read it here."""

from __future__ import annotations

from typing import Final

VERSION: Final = "0.1.0"
"""A version of PEP 440; a release has a heading of it in CHANGELOG.md."""
