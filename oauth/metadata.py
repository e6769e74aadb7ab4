"""Protected-resource metadata (RFC 9728) and the challenge that leads a host to it.

Built from the configured public address alone, never from a request's headers. The SDK's route
helper is not used: it appends a slash to the issuer, which breaks exact comparison.
"""

from __future__ import annotations

from dataclasses import dataclass

SCOPE = "patterns"
"""The single scope: everything the account's key can do."""

RESOURCE_METADATA_PATH = "/.well-known/oauth-protected-resource/mcp"


@dataclass(frozen=True, slots=True)
class ProtectedResource:
    """The MCP endpoint as a protected resource."""

    resource: str
    """The MCP address, byte for byte."""
    authorization_server: str
    """The issuer, without a slash at its end."""
    documentation: str

    @property
    def metadata_url(self) -> str:
        """Where the metadata is found (RFC 9728 section 3.1)."""
        return self.authorization_server + RESOURCE_METADATA_PATH

    def metadata(self) -> dict[str, object]:
        """The metadata document (RFC 9728 section 2)."""
        return {
            "resource": self.resource,
            "authorization_servers": [self.authorization_server],
            "scopes_supported": [SCOPE],
            "bearer_methods_supported": ["header"],
            "resource_name": "Pattern screener",
            "resource_documentation": self.documentation,
        }

    def challenge(self, error: str | None = None) -> str:
        """The WWW-Authenticate value (RFC 6750 section 3, RFC 9728 section 5.1)."""
        parts = [f'resource_metadata="{self.metadata_url}"']
        if error is not None:
            parts.insert(0, f'error="{error}"')
        return "Bearer " + ", ".join(parts)
