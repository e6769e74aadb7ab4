"""How a test speaks with a program of `programs/`; programs/order.py has the words."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tests.qa.hosts.clients import HostClient
from tests.qa.hosts.installed import Installed


@dataclass
class Conversation:
    """A program at work."""

    process: subprocess.Popen[str]
    person: Callable[[str], str]
    """Visits an address; the address that the browser is sent back to."""
    errors: Path
    visits: int = field(default=0)

    def round(self) -> dict[str, Any]:
        """What the program has seen, once its person has visited what it asked for."""
        while True:
            said = self._hear()
            if "round" in said:
                found: dict[str, Any] = said["round"]
                return found
            self.visits += 1
            if "visit" in said:
                self._say(self.person(said["visit"]))
            else:
                # A program may open the page before it listens for who comes back from it.
                transport = httpx.HTTPTransport(retries=7)
                with httpx.Client(transport=transport, timeout=30) as browser:
                    browser.get(self.person(said["open"]))

    def let_pass(self, seconds: float, *, restart: bool = False) -> None:
        """Let time pass in the program, which then makes another round, or first starts again."""
        self._say(json.dumps({"seconds": seconds, "restart": restart}))

    def _say(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def _hear(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"the program ended: {self.errors.read_text()[-4000:]}"
        return json.loads(line)


@contextmanager
def speaking(
    client: HostClient,
    installed: Installed,
    folder: Path,
    person: Callable[[str], str],
    order: dict[str, Any],
) -> Iterator[Conversation]:
    """A conversation with the program of a client."""
    places = {"node": installed.node, "modules": str(installed.modules), "folder": str(folder)}
    python = installed.python("hosts" if client.place == "node" else client.place)
    command = installed.node if client.program.endswith(".mjs") else python
    errors = folder / "errors"
    with (
        errors.open("w") as stderr,
        subprocess.Popen(
            [command, str(installed.programs / client.program), json.dumps({**order, **places})],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        ) as process,
    ):
        try:
            yield Conversation(process, person, errors)
            process.communicate(timeout=30)
            assert process.returncode == 0, errors.read_text()
        finally:
            process.kill()
