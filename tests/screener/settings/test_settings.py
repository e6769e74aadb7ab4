"""Settings: what the operator writes, as the service uses it."""

from __future__ import annotations

from screener.settings.settings import Settings


def test_the_public_address_is_compared_in_lower_case() -> None:
    """Clients send a host in lower case, however the operator wrote it."""
    settings = Settings(public_url="https://SCREENER.Example.com/")

    assert settings.url == "https://screener.example.com"
    assert settings.offer.mcp_url == "https://screener.example.com/mcp"
