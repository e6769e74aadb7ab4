"""Policies: the operator's own privacy page and terms, or what the settings say of themselves."""

from __future__ import annotations

from pathlib import Path

from screener.settings.settings import Settings, SettingsError
from web.policies import Policies, Retention, default_privacy, default_terms

MOST_BYTES = 256 * 1024
"""Of one text."""


def policies_of(settings: Settings) -> Policies:
    """The texts of the two pages, as Markdown.

    Raises:
        SettingsError: a file is missing, empty, too large or no text; the error names the setting.
    """
    offer = settings.offer
    kept = Retention(
        usage_days=settings.usage_days,
        audit_days=settings.audit_days,
        session_idle_days=settings.session_idle_days,
        session_days=settings.session_days,
    )
    return Policies(
        privacy=_read("SCREENER_PRIVACY", settings.privacy) or default_privacy(offer, kept),
        terms=_read("SCREENER_TERMS", settings.terms) or default_terms(offer, settings.disclaimer),
    )


def _read(name: str, path: Path | None) -> str | None:
    if path is None:
        return None
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
        text = content.decode()
    except OSError as error:
        raise SettingsError(f"{name}: {path} cannot be read ({error.strerror}).") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"{name}: {path} is not text in UTF-8.") from error
    if len(content) > MOST_BYTES:
        raise SettingsError(f"{name}: {path} is over {MOST_BYTES // 1024} KB.")
    if not text.strip():
        raise SettingsError(f"{name}: {path} is empty.")
    return text
