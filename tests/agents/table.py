"""The table of the questions: what each takes, and whether it is answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.tokens.counter import count
from tests.agents.asking import Asked, Question, ask, questions
from tests.agents.judging import shortcomings
from tests.agents.nights import Nights
from tests.documents import row

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
        return "yes, by a refusal" if self.question.refused and not self.question.rules else "yes"

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
