"""Every question is answered in few calls and few tokens, with all that the content rules need."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.agent import ERAS
from tests.agents.asking import Asked, Question, ask, questions
from tests.agents.nights import Nights
from tests.agents.paths import at, filled
from tests.agents.rules import missing, needed

QUESTIONS = questions()
CALLS = 3
"""Calls that a question takes at most."""


def test_there_are_forty_questions_and_each_takes_few_calls() -> None:
    assert len(QUESTIONS) == 40
    assert set(Counter(question.asked for question in QUESTIONS).values()) == {1}
    assert [question.asked for question in QUESTIONS if len(question.calls) > CALLS] == []


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.title)
async def test_a_question_is_answered(question: Question, nights: Nights, era: str) -> None:
    live, night = nights[question.night]
    asked = await ask(question, live, night, era)

    assert shortcomings(question, asked) == []
    assert needed(asked.answers) == set(question.rules)
    assert missing(asked.answers, night) == []


def shortcomings(question: Question, asked: Asked) -> list[str]:
    """What a question lacks of what must have come back, in words."""
    text = "\n".join(answer.text for answer in asked.answers)
    found = [
        f"{path} is {at(asked.document, path)}"
        for path, value in question.equals.items()
        if at(asked.document, path) != filled(value, asked.document)
    ]
    found += [f"no {path}" for path in question.has if at(asked.document, path) is None]
    said = filled(list(question.says), asked.document)
    found += [f"not said: {words}" for words in said if words not in text]
    found += [f"not told: {words}" for words in question.told if words not in asked.told]
    codes = [answer.text.partition(":")[0] for answer in asked.answers if answer.refused]
    found += [] if codes == list(question.refused) else [f"refused: {codes}"]
    pictures = sum(answer.pictures for answer in asked.answers)
    return found + ([] if pictures == question.pictures else [f"{pictures} pictures"])
