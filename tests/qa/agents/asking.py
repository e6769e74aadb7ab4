"""Asking: the questions of `questions.toml`, put to a live service through a real client.

Paths read one value of JSON: `1.tickers.symbol=M2.setups.0.status`. A part is the name of a field,
a place in a list, or `name=value`: the first row of a list with that value. `*` takes every row of
a list, and what follows is read of each.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.agent import call, connected, images, texts
from tests.qa.agents.rules import Answer
from tests.service import Service

TEMPLATE = re.compile(r"\{([^{}]+)\}")
FILE = Path(__file__).with_name("questions.toml")


@dataclass(frozen=True)
class Question:
    """What a person asks, the calls that answer it, and what must have come back.

    Paths begin with the number of a call, or with `night` for what was sealed.
    """

    asked: str
    calls: Sequence[Mapping[str, Any]] = ()
    """The tool of each call and its arguments; `{path}` stands for a value of an earlier answer."""
    address: str = "/mcp"
    night: str = "market"
    tracked: Sequence[str] = ("M1", "M2", "QUIET", "SHORT")
    equals: Mapping[str, Any] = field(default_factory=dict)
    """The value at each path."""
    has: Sequence[str] = ()
    """Paths where something stands that is not null."""
    says: Sequence[str] = ()
    """Words of the answers."""
    told: Sequence[str] = ()
    """Words of what the host was told before any call: the instructions and the tools."""
    refused: Sequence[str] = ()
    """The codes of the refusals among the answers."""
    pictures: int = 0
    offered: bool = True
    """False if the answer is that it is not offered, and where to look."""
    tokens: int = 4_000

    @property
    def title(self) -> str:
        """The question as a name of a test."""
        return self.asked.rstrip("?.").replace(" ", "-")


@dataclass(frozen=True)
class Asked:
    """What came back for a question."""

    answers: Sequence[Answer]
    told: str
    document: Mapping[str, Any]
    """What paths are read of: the bodies by the number of their call, and the night."""


def questions() -> list[Question]:
    """All of them, in their order."""
    rows = tomllib.loads(FILE.read_text(encoding="utf-8"))["question"]
    return [Question(**row) for row in rows]


async def ask(
    question: Question, live: Service, night: Mapping[str, Any], era: str = "legacy"
) -> Asked:
    """Make the calls of a question, for a new account."""
    key = _key(question, live)
    document: dict[str, Any] = {"night": night}
    answers = []
    # A client that is told its revision reads no instructions; one that discovers it does.
    mode = "legacy" if era == "legacy" else "auto"
    async with connected(live.url + question.address, key, mode) as client:
        if era != "legacy":
            assert client.protocol_version == era
        listed = (await client.list_tools()).tools
        told = "\n".join(
            [client.instructions or "", *(f"{t.name}: {t.description}" for t in listed)]
        )
        for number, asked in enumerate(question.calls, 1):
            arguments = filled(dict(asked), document)
            result = await call(client, arguments.pop("tool"), **arguments)
            text = "\n".join(texts(result))
            body = result.structured_content
            answers.append(Answer(text, body, bool(result.is_error), len(images(result))))
            document[str(number)] = body
    return Asked(answers, told, document)


def _key(question: Question, live: Service) -> str:
    if question.address == "/mcp/demo":
        return ""
    return live.new_key(tracked=[name for row in question.tracked for name in _symbols(row)])


def _symbols(row: str) -> list[str]:
    """The symbols of a row: one, or several in a line such as `M1..M100`."""
    first, _, last = row.partition("..")
    if not last:
        return [first]
    name = first.rstrip("0123456789")
    numbers = range(int(first.removeprefix(name)), int(last.removeprefix(name)) + 1)
    return [f"{name}{number}" for number in numbers]


class PathError(LookupError):
    """Nothing stands at a path."""


def at(value: Any, path: str) -> Any:
    """What stands at a path.

    Raises:
        PathError: nothing does.
    """
    return _walk(value, path.split("."), path)


def filled(value: Any, document: Any) -> Any:
    """A value whose texts `{path}` are replaced by what stands there, alone or within a text.

    A list that stands for a row of a list gives all its rows.
    """
    if isinstance(value, dict):
        return {name: filled(part, document) for name, part in value.items()}
    if isinstance(value, list):
        parts = [filled(part, document) for part in value]
        return [row for part in parts for row in (part if isinstance(part, list) else [part])]
    if not isinstance(value, str):
        return value
    whole = TEMPLATE.fullmatch(value)
    if whole:
        return at(document, whole[1])
    return TEMPLATE.sub(lambda found: str(at(document, found[1])), value)


def _walk(value: Any, parts: list[str], path: str) -> Any:
    for number, part in enumerate(parts):
        if part == "*":
            return [_walk(row, parts[number + 1 :], path) for row in value]
        value = _step(value, part, path)
    return value


def _step(value: Any, part: str, path: str) -> Any:
    name, equals, wanted = part.partition("=")
    try:
        if equals:
            return next(row for row in value if str(row[name]) == wanted)
        return value[int(part)] if isinstance(value, list) else value[part]
    except (LookupError, TypeError, ValueError, StopIteration) as error:
        raise PathError(f"nothing at {part} of {path}") from error
