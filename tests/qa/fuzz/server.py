"""The server under test: a process of its own, with raised limits or the usual ones."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.serving.process import Server, environment
from screener.settings.settings import Settings
from store.accounts.accounts import AccountPlan
from tests.qa.fuzz.exchange import Answer, Visitor, faults_of, request, send
from tests.qa.fuzz.hostile import encoded
from tests.qa.fuzz.trial import SLOW
from tests.screener.process import free_port
from tests.screener.web.browser import PASSWORD_HASH, Browser
from tests.service import Service, new_key, on_accounts

EMAIL = "fuzz@example.com"

RAISED = {
    name: 1_000_000 for name in Settings.model_fields if name.endswith(("_per_minute", "_per_day"))
}
"""Limits that are never reached, so that they hide no code."""
MAX_CPU = 0.25
"""Seconds of the server's processor that one request may take."""
COSTLY = (b"chart", b"password")
"""What is in a request that may draw a chart for the first time, or hashes a password."""


@dataclass
class Target:
    """A running server, who sends to it, and the slowest answer so far."""

    server: Server
    visitor: Visitor
    settings: Settings
    limited: bool
    """Whether it has the usual limits."""

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://{self.visitor.host}:{self.visitor.port}"

    def exchange(self, data: bytes) -> tuple[Answer, float, list[str]]:
        """The answer to a request, its seconds of processor, and what is wrong with it."""
        before = self.server.cpu()
        answer = send(self.visitor, data)
        spent = self.server.cpu() - before
        found = faults_of(data, answer)
        if spent > MAX_CPU and not any(word in data for word in COSTLY):
            found.append(SLOW)
        return answer, spent, found

    def memory(self) -> float:
        """Its resident set in megabytes."""
        return self.server.memory().rss

    def sign_in(self) -> None:
        """Give the visitor the session of a browser that signs in."""
        with Browser(Service(self.settings, self.url, self.visitor.key)) as one:
            one.sign_in(EMAIL)
            session = one.cookies["session"]
        self.visitor = replace(self.visitor, session=session)


@contextmanager
def running(folder: Path, **settings: int) -> Iterator[Target]:
    """Serve the night of a data folder in a process of its own within the block."""
    port = free_port()
    chosen = Settings(data_dir=folder, port=port)
    key = new_key(chosen, "fuzz-key@example.com")

    on_accounts(
        chosen, lambda accounts: accounts.add(EMAIL, AccountPlan.PREMIUM_PLUS, PASSWORD_HASH)
    )
    # What is tried must not reach the Internet, so no document of an app is read.
    given = environment(
        data_dir=folder, port=port, sign_up=True, client_metadata_documents=False, **settings
    )
    command = [str(Path(sys.executable).with_name("screener")), "serve"]
    with Server("screener", command, port, given, folder / "server.log") as server:
        server.wait_open()
        target = Target(server, Visitor("127.0.0.1", port, key, ""), chosen, not settings)
        target.sign_in()
        _draw(target)
        yield target


def _draw(target: Target) -> None:
    """Let the tool draw its charts, which may take long once."""
    for symbol in target.settings.demo_symbols:
        message: dict[str, object] = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
        message |= {"params": {"name": "demo", "arguments": {"symbol": symbol}}}
        headers = {"Content-Type": "application/json"}
        send(target.visitor, request("POST", "/mcp/demo", headers, encoded(message)))
