"""The offer: what the service says of itself to its clients, from the settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

PRIVACY_PATH, TERMS_PATH = "/privacy", "/terms"


@dataclass(frozen=True, slots=True)
class Offer:
    """The settings that answers depend on."""

    public_url: str
    """Scheme and host, without a trailing slash."""
    demo_symbols: tuple[str, ...]
    beta: bool = True
    extended: bool = True
    """Whether the extended tools are offered."""
    registry_name: str | None = None
    """The name in registries, if it does not follow from the address."""
    operator: str | None = None
    """The operator's name, if it is set."""
    example: str | None = None
    """The demo symbol that examples ask for; the first one if None."""

    def with_example(self, setups: Mapping[str, int]) -> Offer:
        """The offer whose examples ask for a demo symbol with a setup, if any has one.

        `setups` has the number of setups of each symbol of a night.
        """
        having = (symbol for symbol in self.demo_symbols if setups.get(symbol))
        return replace(self, example=next(having, None))

    @property
    def docs_url(self) -> str:
        """Where people read the documentation."""
        return f"{self.public_url}/docs"

    @property
    def mcp_url(self) -> str:
        """The MCP endpoint."""
        return f"{self.public_url}/mcp"

    @property
    def extended_url(self) -> str:
        """The MCP endpoint with more tools than the seven."""
        return f"{self.mcp_url}/extended"

    @property
    def demo_url(self) -> str:
        """The MCP endpoint that needs no key."""
        return f"{self.mcp_url}/demo"

    @property
    def privacy_url(self) -> str:
        """What is stored of people, and for how long."""
        return f"{self.public_url}{PRIVACY_PATH}"

    @property
    def terms_url(self) -> str:
        """The terms of use."""
        return f"{self.public_url}{TERMS_PATH}"

    @property
    def base_url(self) -> str:
        """The base of the REST routes."""
        return f"{self.public_url}/api/v1"
