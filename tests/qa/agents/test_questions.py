"""Every question is answered in few calls and few tokens, with all that the content rules need."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.tokens.counter import CounterError
from benchmarks.tokens.tables import outdated
from tests.agent import ERAS
from tests.documents import parts_of, with_table
from tests.qa.agents.asking import Question, ask, questions
from tests.qa.agents.nights import Nights
from tests.qa.agents.table import ask_all, shortcomings, table

PAGE = Path(__file__).with_name("questions.md")
QUESTIONS = questions()
CALLS = 3
"""Calls that a question takes at most."""
TOKENS, WHOLE_LIST = 4_000, 8_000
"""Tokens of its results at most, and of the question for a whole list of 200 tickers."""


def test_there_are_forty_questions_within_the_bounds() -> None:
    assert len(QUESTIONS) == 40
    assert set(Counter(question.asked for question in QUESTIONS).values()) == {1}
    assert [question.asked for question in QUESTIONS if len(question.calls) > CALLS] == []
    budgets = Counter(question.tokens for question in QUESTIONS)
    assert budgets == {TOKENS: 39, WHOLE_LIST: 1}


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.title)
async def test_a_question_is_answered(question: Question, nights: Nights, era: str) -> None:
    live, night = nights[question.night]
    asked = await ask(question, live, night, era)

    assert shortcomings(question, asked, night) == []


@pytest.mark.engine
async def test_every_question_keeps_its_budget_and_the_page_for_agents_says_so(
    nights: Nights,
) -> None:
    try:
        rows = await ask_all(nights)
    except CounterError as error:
        pytest.skip(str(error))

    assert [str(row) for row in rows if not row.is_answered] == []
    page = PAGE.read_text(encoding="utf-8")
    if os.environ.get("UPDATE_DOCS"):
        page = with_table(page, "questions", table(rows))
        PAGE.write_text(page, encoding="utf-8")
    assert outdated(parts_of(page, "questions")[1], table(rows)) == []
