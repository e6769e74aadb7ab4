"""Kept answers: the cache is bounded by bytes, with keys and forms."""

from __future__ import annotations

import os

import pytest

from mcp_server.http.responses import PUBLIC, answer_response
from mcp_server.operations.answers import PNG, Answer, Answers


def test_what_was_used_longest_ago_is_forgotten_first() -> None:
    answers = Answers(kept_bytes=3 * 60_000)
    for name in ("a", "b", "c"):
        answers.keep((name,), Answer(b"x" * 10_000))
    assert answers.get(("a",)) is not None

    answers.keep(("d",), Answer(b"x" * 10_000))

    assert answers.get(("b",)) is None
    assert [answers.get((name,)) is not None for name in ("a", "c", "d")] == [True] * 3


def test_a_key_counts_for_what_it_takes() -> None:
    answers = Answers(kept_bytes=1_000_000)
    for number in range(100):
        answers.keep((f"{number}", "k" * 50_000), Answer(b"small"))

    assert len(answers) < 20
    assert answers.currsize <= 1_000_000


@pytest.mark.parametrize("answer", [Answer(b"x" * 10_000), Answer(b"{}", lasting=False)])
def test_an_answer_that_is_too_large_or_lacks_something_for_now_is_not_kept(answer: Answer) -> None:
    answers = Answers(kept_bytes=10_000)

    answers.keep(("a",), answer)

    assert len(answers) == 0


@pytest.mark.parametrize("body", [b'""' * 5_000, os.urandom(10_000).hex().encode()])
def test_all_forms_of_an_answer_stay_within_what_it_counts_for(body: bytes) -> None:
    answer = Answer(b'{"a":"%b"}' % body.replace(b'"', b"'") if body[:1] != b'"' else body)

    for coding in (b"", b"gzip", b"zstd"):
        answer_response(answer, {b"accept-encoding": coding}, PUBLIC)

    forms = sum(len(form.body) for form in answer.forms.values())
    assert len(answer.forms) == 3
    assert forms + 2 * len(answer.body) <= answer.most_bytes


def test_a_picture_beside_the_json_counts_too() -> None:
    assert Answer(b"{}", picture=b"x" * 1_000).most_bytes > 5_000
    assert Answer(b"x" * 1_000, PNG).most_bytes > 5_000
    assert Answer(b"x", PNG, app=b"x" * 20_000).most_bytes > 20_000
