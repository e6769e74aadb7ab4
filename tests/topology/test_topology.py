"""Several machines: a short drive through everything, and the tools that judge it."""

from __future__ import annotations

import subprocess
import sys

import httpx
import pytest

from tests.topology.parts import missing
from tests.topology.readers import most_within
from tests.topology.truth import Question, Truth, Wrong, call

LACKING = missing()
NIGHT = b'{"data_version":"20240326-aa"}'


def judged(truth: Truth, body: bytes, sent: float = 0.0, **headers: str) -> list[Wrong]:
    answer = httpx.Response(200, content=body, headers=headers)
    return truth.judge(Question("/api/v1/families"), answer, sent)


@pytest.fixture
def truth() -> Truth:
    known = Truth()
    known.note("20240326-aa", Question("/api/v1/families"), httpx.Response(200, content=NIGHT))
    return known


def test_the_bytes_of_a_night_are_right_and_any_others_are_wrong(truth: Truth) -> None:
    other = NIGHT.replace(b"}", b" }")

    assert judged(truth, NIGHT) == []
    assert [one.promise for one in judged(truth, other)] == ["wrong answers"]
    assert [one.promise for one in judged(truth, NIGHT, etag='"1"')] == ["mixed nights"]


def test_the_quota_of_the_caller_is_no_part_of_what_a_night_says(truth: Truth) -> None:
    question = call("demo", "/mcp/demo")
    one, other = (NIGHT[:-1] + b',"RateLimit":"\\"minute\\";r=%d"}' % left for left in (9, 8))
    truth.note("20240326-aa", question, httpx.Response(200, content=one))

    assert truth.judge(question, httpx.Response(200, content=other), 0.0) == []


def test_an_answer_that_names_two_nights_is_mixed_also_within_a_text(truth: Truth) -> None:
    within = b'{"text":"{\\"data_version\\":\\"20240327-bb\\"}","data_version":"20240326-aa"}'

    assert [one.promise for one in judged(truth, within)] == ["mixed nights"]


def test_a_withdrawn_night_is_wrong_from_its_end_on(truth: Truth) -> None:
    truth.is_gone("20240326-aa", 10.0)

    assert judged(truth, NIGHT, sent=9.0) == []
    assert [one.promise for one in judged(truth, NIGHT, sent=11.0)] == ["wrong answers"]


@pytest.mark.parametrize(
    ("status", "headers", "promises"),
    [
        (503, {"retry-after": "1"}, []),
        (503, {}, ["wrong refusals"]),
        (500, {"retry-after": "1"}, ["wrong refusals"]),
        (401, {}, ["wrong refusals"]),
    ],
)
def test_a_call_may_be_refused_for_a_while_and_told_so(
    truth: Truth, status: int, headers: dict[str, str], promises: list[str]
) -> None:
    answer = httpx.Response(status, headers=headers)

    found = truth.judge(call("demo", "/mcp/demo"), answer, 0.0)

    assert [one.promise for one in found] == promises


def test_a_moving_minute_counts_what_certainly_lies_in_it() -> None:
    spans = [(float(at), at + 0.5) for at in range(0, 120, 10)]

    assert most_within(spans, 60.0) == 6
    assert most_within(spans, 60.6) == 7
    assert most_within([], 60.0) == 0


@pytest.mark.engine
@pytest.mark.skipif(bool(LACKING), reason=f"not installed here: {', '.join(LACKING)}")
def test_no_promise_is_broken_while_each_part_is_killed_once() -> None:
    command = [sys.executable, "-m", "tests.topology", "--minutes", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200)

    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
