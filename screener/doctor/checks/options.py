"""Options: whether the settings are known, and whether they agree with each other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from screener.doctor.checks.finding import Finding, fault, ok, warning

if TYPE_CHECKING:
    from screener.settings.settings import Settings


def unknown(_chosen: Settings) -> Iterator[Finding]:
    """Variables that look like settings and are none."""
    from screener.settings.settings import unknown_settings

    found = unknown_settings()
    for stranger in found:
        yield warning("settings", stranger.words)
    if not found:
        yield ok("settings", "each SCREENER_ variable is a setting")


def policies(chosen: Settings) -> Iterator[Finding]:
    """Whether the operator's texts can be read."""
    from screener.service.policies import policies_of
    from screener.settings.settings import SettingsError

    try:
        policies_of(chosen)
    except SettingsError as error:
        yield fault("policies", str(error))


def contradictions(chosen: Settings) -> Iterator[Finding]:
    """Settings that do not go together."""
    public, proxies = chosen.public_url, chosen.trusted_proxies
    if public and public.startswith("http:") and _is_public_name(public):
        yield warning(
            "public address",
            f"SCREENER_PUBLIC_URL={public} sends keys and passwords in the clear; put a proxy with "
            "TLS in front and name it with https.",
        )
    if public and public.startswith("https:") and not proxies:
        yield warning(
            "proxies",
            "SCREENER_PUBLIC_URL is https, so a proxy stands in front, and all its callers share "
            "the limits of one address; name it in SCREENER_TRUSTED_PROXIES.",
        )
    if proxies and not public:
        yield warning(
            "proxies",
            f"SCREENER_TRUSTED_PROXIES is set and links name {chosen.url}; set SCREENER_PUBLIC_URL "
            "to the address that clients use.",
        )
    if "*" in proxies and not _is_loopback(chosen.host):
        yield warning(
            "proxies",
            f"SCREENER_TRUSTED_PROXIES=* believes whoever reaches {chosen.host}:{chosen.port}; "
            "name the addresses of the proxies.",
        )
    if chosen.open_pages and public:
        yield warning(
            "open pages",
            f"SCREENER_OPEN_PAGES shows the scan to everybody who reaches {public}; unset it.",
        )


def _is_public_name(url: str) -> bool:
    from screener.service.origins import is_on_the_internet

    return is_on_the_internet(f"https:{url.partition(':')[2]}")


def _is_loopback(host: str) -> bool:
    return host in ("localhost", "::1") or urlsplit(f"//{host}").netloc.startswith("127.")
