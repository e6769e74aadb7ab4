"""The table of clients: what each can do. Tests hold every cell, the README shows it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from tests.documents import row

HERE = Path(__file__).parent
LOCKS = HERE.parents[2] / "locks"

Era = Literal["legacy", "2026-07-28"]
Place = Literal["hosts", "hosts-sdk1", "node"]
"""Where a client is installed: from locks/PLACE.lock, or from package-lock.json."""

BOTH: tuple[Era, ...] = ("legacy", "2026-07-28")
LEGACY: tuple[Era, ...] = ("legacy",)
NEWER: tuple[Era, ...] = ("2026-07-28",)
LANGCHAIN = "langchain-mcp-adapters"
WAYS = ("without a key", "by key", "by sign-in")


@dataclass(frozen=True)
class HostClient:
    """One client, and the program of `programs/` that has it list and call all tools."""

    name: str
    package: str
    place: Place
    program: str
    eras: tuple[Era, ...]
    started_again: Literal["refreshes", "signs in again"] = "refreshes"
    """What it does when it has been started again and its stored access token has run out."""

    @property
    def version(self) -> str:
        """The locked version."""
        if self.place == "node":
            packages = json.loads((HERE / "package-lock.json").read_text())["packages"]
            version: str = packages[f"node_modules/{self.package}"]["version"]
            return version
        lock = (LOCKS / f"{self.place}.lock").read_text()
        found = re.search(rf"^{re.escape(self.package)}==(\S+)", lock, re.MULTILINE)
        assert found is not None, f"{self.package} is not in {self.place}.lock"
        return found[1]


FORGETS: Final = "signs in again"
"""The Python SDK keeps neither when its tokens expire nor where they are refreshed."""

CLIENTS = (
    HostClient("Python SDK", "mcp", "hosts", "python_sdk.py", BOTH, FORGETS),
    HostClient("Python SDK 1", "mcp", "hosts-sdk1", "python_sdk_1.py", LEGACY, FORGETS),
    HostClient("FastMCP", "fastmcp-slim", "hosts", "fastmcp_client.py", BOTH, FORGETS),
    HostClient("TypeScript SDK", "@modelcontextprotocol/client", "node", "typescript_2.mjs", BOTH),
    HostClient("TypeScript SDK 1", "@modelcontextprotocol/sdk", "node", "typescript_1.mjs", LEGACY),
    HostClient("mcp-remote", "mcp-remote", "node", "mcp_remote.py", BOTH),
    HostClient("Inspector CLI", "@modelcontextprotocol/inspector", "node", "inspector.py", BOTH),
    HostClient("LangChain", LANGCHAIN, "hosts-sdk1", "langchain_adapters.py", LEGACY, FORGETS),
    HostClient("OpenAI Agents SDK", "openai-agents", "hosts", "openai_agents.py", NEWER, FORGETS),
    HostClient("Pydantic AI", "pydantic-ai-slim", "hosts", "pydantic_ai_toolset.py", BOTH, FORGETS),
)
NOTES = {
    "mcp-remote": "speaks 2026-07-28 with `--protocol auto`; its own host always the handshake",
    "Inspector CLI": (
        "without a keychain it keeps tokens only with `MCP_INSPECTOR_SECRET_STORE=file`"
    ),
    "LangChain": "needs the first major version of the Python SDK",
    "OpenAI Agents SDK": "chooses the era itself, here the newer one",
    "Pydantic AI": "here with the sign-in of the Python SDK",
}


def table() -> str:
    """The table of the README."""
    later = ("a week later", "a week later, started again")
    head = ("client", "version", "era", *WAYS, *later, "note")
    return "\n".join([row(*head), row(*["---"] * len(head)), *(row(*_cells(c)) for c in CLIENTS)])


def _cells(client: HostClient) -> list[str]:
    eras = ["2025" if era == "legacy" else era for era in client.eras]
    version = f"{client.version} of `{client.package}`"
    later = ["refreshes", client.started_again]
    note = NOTES.get(client.name, "")
    return [client.name, version, ", ".join(eras), *["yes"] * len(WAYS), *later, note]
