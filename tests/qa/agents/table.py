"""The table of the questions: what each takes, whether it is answered, and what is lacking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.tokens.counter import count
from tests.documents import row
from tests.qa.agents.asking import Asked, Question, ask, at, filled, questions
from tests.qa.agents.nights import Nights
from tests.qa.agents.rules import missing

HEAD = "| | a person asks | calls | tokens | answered |\n| --- | --- | --- | --- | --- |"


@dataclass(frozen=True)
class Row:
    """A question and what came of it."""

    number: int
    question: Question
    tokens: int
    """Of all results together, as a model reads them."""
    lacks: Sequence[str]

    @property
    def verdict(self) -> str:
        """Whether it was answered within its budget, in words."""
        if self.lacks:
            return "; ".join(self.lacks)
        if self.tokens > self.question.tokens:
            return f"over {self.question.tokens:,} tokens"
        if not self.question.offered:
            return "not offered, and says so"
        refused, calls = self.question.refused, self.question.calls
        return "yes, by a refusal" if refused and len(refused) == len(calls) else "yes"

    @property
    def is_answered(self) -> bool:
        """Whether nothing is lacking and the budget holds."""
        return not self.lacks and self.tokens <= self.question.tokens

    def __str__(self) -> str:
        """The row of the table."""
        tools = [f"`{asked['tool']}`" for asked in self.question.calls]
        calls = ", ".join(tools) or "none, the host knows"
        where = "" if self.question.address == "/mcp" else f" (`{self.question.address}`)"
        asked, tokens = self.question.asked, f"{self.tokens:,}"
        return row(str(self.number), asked, calls + where, tokens, self.verdict)


async def ask_all(nights: Nights) -> list[Row]:
    """Ask every question, and count what came back."""
    every = questions()
    found = [await ask(question, *nights[question.night]) for question in every]
    counted = count([_text(asked) for asked in found])
    return [
        Row(number, question, tokens, shortcomings(question, asked, nights[question.night][1]))
        for number, (question, asked, tokens) in enumerate(
            zip(every, found, counted, strict=True), 1
        )
    ]


def table(rows: Sequence[Row]) -> str:
    """The table in Markdown."""
    return "\n".join([HEAD, *map(str, rows)])


def _text(asked: Asked) -> str:
    return "\n".join(answer.text for answer in asked.answers)


def shortcomings(question: Question, asked: Asked, night: Mapping[str, Any]) -> list[str]:
    """What did not come back as the question says, or lacks what a content rule needs."""
    return [
        *_values(question, asked),
        *_words(question, asked),
        *_kinds(question, asked),
        *missing(asked.answers, night),
    ]


def _agrees(found: Any, wanted: Any) -> bool:
    """Whether a value is the wanted one; an object may have more fields."""
    if isinstance(found, Mapping) and isinstance(wanted, Mapping):
        return found.items() >= wanted.items()
    return bool(found == wanted)


def _values(question: Question, asked: Asked) -> list[str]:
    wanted = {path: filled(value, asked.document) for path, value in question.equals.items()}
    found = {path: at(asked.document, path) for path in [*wanted, *question.has]}
    wrong = [
        f"{path} is {found[path]}"
        for path, value in wanted.items()
        if not _agrees(found[path], value)
    ]
    return wrong + [f"nothing at {path}" for path in question.has if found[path] is None]


def _words(question: Question, asked: Asked) -> list[str]:
    text = "\n".join(answer.text for answer in asked.answers)
    says = filled(list(question.says), asked.document)
    lacking = [f"not said: {words}" for words in says if words not in text]
    return lacking + [f"not told: {words}" for words in question.told if words not in asked.told]


def _kinds(question: Question, asked: Asked) -> list[str]:
    codes = [answer.text.partition(":")[0] for answer in asked.answers if answer.refused]
    pictures = sum(answer.pictures for answer in asked.answers)
    wrong = [f"refused: {codes}"] if codes != list(question.refused) else []
    return wrong + ([f"{pictures} pictures"] if pictures != question.pictures else [])
