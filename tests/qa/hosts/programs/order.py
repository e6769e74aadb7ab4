"""What each program here is told, what it says, and how time passes in it.

The order is one JSON object, the first argument: the endpoint's `url`, a `key` or "", the `era` to
speak, the `calls` to make and whether to `sign_in`. On stdout a program says one JSON object a
line: `visit`, an address for a person, answered by the address that the browser was sent back to;
`open`, the same for a program that has its own server for the way back; and `round`, what it has
seen. Then it reads how many `seconds` have passed, and whether it is to `restart` with nothing but
its stored tokens, and makes another round, with the first call alone. With nothing to read it ends.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any

Called = tuple[str, dict[str, Any]]
"""The name of a tool and its arguments."""


@dataclass(frozen=True)
class Order:
    """What a program is to do."""

    url: str
    key: str
    era: str
    calls: list[Called]
    sign_in: bool
    node: str
    modules: str
    folder: str

    @property
    def headers(self) -> dict[str, str]:
        """The credentials, as header fields."""
        return {"Authorization": f"Bearer {self.key}"} if self.key else {}


def order() -> Order:
    """The order."""
    return Order(**json.loads(sys.argv[1]))


def say(**what: Any) -> None:
    """Say one thing."""
    sys.stdout.write(f"{json.dumps(what)}\n")
    sys.stdout.flush()


async def hear() -> str:
    """The next line, without its end."""
    return (await asyncio.to_thread(sys.stdin.readline)).strip()


def result(tool: str, said: str | None, *, failed: bool = False, images: int = 0) -> dict[str, Any]:
    """What a call answered: its first text, whether it was an error, and how many images it had."""
    return {"tool": tool, "failed": failed, "said": said, "images": images}


def read(tool: str, blocks: Iterable[Any], *, failed: bool) -> dict[str, Any]:
    """What a call answered, from content blocks, which some clients give as JSON."""
    plain = [block if isinstance(block, dict) else vars(block) for block in blocks]
    texts = [block["text"] for block in plain if block["type"] == "text"]
    images = sum(block["type"] == "image" for block in plain)
    return result(tool, next(iter(texts), None), failed=failed, images=images)


async def answers(
    calls: list[Called], call: Callable[[str, dict[str, Any]], Awaitable[Any]]
) -> list[dict[str, Any]]:
    """What each call answered, from the content blocks of the protocol."""
    results = []
    for tool, arguments in calls:
        answer = await call(tool, arguments)
        # The first major version of the SDK has the other name.
        failed = answer.isError if hasattr(answer, "isError") else bool(answer.is_error)
        results.append(read(tool, answer.content, failed=failed))
    return results


def run(
    given: Order,
    once: Callable[[list[Called]], Awaitable[dict[str, Any]]],
    restart: Callable[[], None] = lambda: None,
) -> None:
    """Make rounds until nothing more is heard: the first with all calls, the others with one."""

    async def rounds() -> None:
        calls = given.calls
        while True:
            say(round=await once(calls))
            if not (heard := await hear()):
                return
            passed = json.loads(heard)
            _let_pass(passed["seconds"])
            if passed["restart"]:
                restart()
            calls = calls[:1]

    asyncio.run(rounds())


def _let_pass(seconds: float) -> None:
    before = time.time
    time.time = lambda: before() + seconds
