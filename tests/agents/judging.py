"""Judging: what the answers to a question lack, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.agents.asking import Asked, Question
from tests.agents.paths import at, filled
from tests.agents.rules import missing, needed


def shortcomings(question: Question, asked: Asked, night: Mapping[str, Any]) -> list[str]:
    """What did not come back as the question says, or lacks what a content rule needs."""
    rules = needed(asked.answers)
    other = [f"needs the rules {sorted(rules)}"] if rules != set(question.rules) else []
    return [
        *_values(question, asked),
        *_words(question, asked),
        *_kinds(question, asked),
        *other,
        *missing(asked.answers, night),
    ]


def _values(question: Question, asked: Asked) -> list[str]:
    wanted = {path: filled(value, asked.document) for path, value in question.equals.items()}
    found = {path: at(asked.document, path) for path in [*wanted, *question.has]}
    wrong = [f"{path} is {found[path]}" for path, value in wanted.items() if found[path] != value]
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
