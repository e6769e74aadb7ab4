"""The drills notice what they are there to notice, and are those of the documents."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import httpx
import pytest

from tests.node import ROOT
from tests.qa.drills.__main__ import FAULTS
from tests.qa.drills.drill import Drill
from tests.qa.drills.nights import Nights as Known
from tests.qa.drills.readers import most_within
from tests.qa.drills.server import Place
from tests.qa.drills.several import LOSSES
from tests.qa.drills.site import missing
from tests.qa.drills.truth import FAMILIES, Question, Truth, Wrong, call
from tests.service import Service

LACKING = missing()
NIGHT = b'{"data_version":"20240326-aa"}'


def first_cells(page: str, heading: str) -> set[str]:
    """The first column of a table with a heading."""
    rows = (ROOT / page).read_text().split(heading, 1)[1].split("\n\n", 1)[0]
    return {row.split(" | ")[0].removeprefix("| ") for row in rows.splitlines()[2:]}


def test_the_documents_and_the_drills_name_the_same_faults() -> None:
    faults = [cell.split(":")[0] for cell in first_cells("tests/qa/drills/README.md", "| fault |")]
    parts = first_cells("docs/several-machines.md", "| part | what callers see |")

    assert set(re.findall(r"`([a-z-]+)`", "".join(faults))) == FAULTS.keys()
    assert parts == {name for name, *_ in LOSSES}


def judged(truth: Truth, body: bytes, sent: float = 0.0, **headers: str) -> list[str]:
    answer = httpx.Response(200, content=body, headers=headers)
    return [wrong.promise for wrong in truth.judge(FAMILIES, answer, sent)]


@pytest.fixture
def truth() -> Truth:
    known = Truth()
    known.note("20240326-aa", FAMILIES, httpx.Response(200, content=NIGHT))
    return known


def test_the_bytes_of_a_night_are_right_and_any_others_are_wrong(truth: Truth) -> None:
    within = b'{"text":"{\\"data_version\\":\\"20240327-bb\\"}","data_version":"20240326-aa"}'
    unheard = truth.judge(Question("/api/v1/unheard"), httpx.Response(200, content=NIGHT))

    assert judged(truth, NIGHT) == []
    assert judged(truth, NIGHT.replace(b"}", b" }")) == ["wrong answers"]
    assert judged(truth, NIGHT, etag='"1"') == ["mixed nights"]
    assert judged(truth, within) == ["mixed nights"]
    assert [wrong.promise for wrong in unheard] == ["wrong answers"]


def test_what_a_service_says_is_learned_and_another_byte_is_not_the_truth(service: Service) -> None:
    truth = Truth()
    place = Place(service.settings, service.settings.port)
    with place.client() as keyless, place.client(service.key) as keyed:
        truth.learn(keyless, keyed)
        answer = FAMILIES.ask(keyless)

    assert truth.judge(FAMILIES, answer) == []
    assert judged(truth, answer.content.replace(b"1", b"2", 1), etag=answer.headers["etag"])


def test_the_quota_of_the_caller_is_no_part_of_what_a_night_says(truth: Truth) -> None:
    question = call("demo", "/mcp/demo")
    one, other = (NIGHT[:-1] + b',"RateLimit":"\\"minute\\";r=%d"}' % left for left in (9, 8))
    truth.note("20240326-aa", question, httpx.Response(200, content=one))

    assert truth.judge(question, httpx.Response(200, content=other)) == []


def test_a_withdrawn_night_is_wrong_from_its_end_on(truth: Truth) -> None:
    truth.is_gone("20240326-aa", 10.0)

    assert judged(truth, NIGHT, sent=9.0) == []
    assert judged(truth, NIGHT, sent=11.0) == ["wrong answers"]


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
    refused: list[Wrong] = truth.judge(FAMILIES, httpx.Response(status, headers=headers))

    assert [wrong.promise for wrong in refused] == promises


def test_a_moving_minute_counts_what_certainly_lies_in_it() -> None:
    spans = [(float(at), at + 0.5) for at in range(0, 120, 10)]

    assert most_within(spans, 60.0) == 6
    assert most_within(spans, 60.6) == 7
    assert most_within([], 60.0) == 0


@pytest.mark.parametrize(
    ("noted", "shown"),
    [
        ({"seen": Counter(answered=3)}, "nothing"),
        ({"lost": ["a key"]}, "LOST a key"),
        ({"wrong": ["12"]}, "WRONG 12"),
    ],
)
def test_whatever_is_lost_or_wrong_fails_the_row_and_stands_in_it(
    tmp_path: Path, noted: dict[str, Counter[str] | list[str]], shown: str
) -> None:
    drill = Drill("kill", tmp_path, Known(tmp_path))
    vars(drill).update(noted)

    assert drill.row()[2] == shown
    assert drill.failed == (shown != "nothing")


@pytest.mark.engine
@pytest.mark.timeout(1200)
@pytest.mark.skipif(bool(LACKING), reason=f"not installed here: {', '.join(LACKING)}")
def test_no_promise_is_broken_while_parts_of_a_site_are_killed() -> None:
    command = [
        sys.executable,
        "-m",
        "tests.qa.drills",
        "topology",
        "--minutes",
        "0",
        "--first",
        "4",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200)

    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
