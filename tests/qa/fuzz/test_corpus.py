"""The corpus: what once broke the service or a reader is refused, or answered, as it should be."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.qa.fuzz.exchange import Answer, Visitor, faults_of, send
from tests.qa.fuzz.readers import readers
from tests.qa.fuzz.trial import FOLDER, HTTP, corpus
from tests.screener.web.browser import Browser
from tests.screener.web.people import new_person
from tests.service import Service

READERS = {reader.name: reader for reader in readers()}
FILES = [path for name in READERS for path in corpus(name)]


@pytest.fixture(scope="module")
def visitor(service: Service) -> Visitor:
    with Browser(service) as browser:
        browser.sign_in(new_person(service).email)
        session = browser.cookies["session"]
    return Visitor("127.0.0.1", service.settings.port, service.key, session)


@pytest.mark.parametrize("path", corpus(HTTP), ids=lambda path: path.stem)
def test_a_request_that_once_did_harm_is_answered(path: Path, visitor: Visitor) -> None:
    data = path.read_bytes()

    answer = send(visitor, data)

    assert faults_of(data, answer) == []
    assert answer.statuses or answer.reset, "no answer at all"


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_file_that_once_broke_its_reader_is_read_or_refused(path: Path, tmp_path: Path) -> None:
    READERS[path.parent.name].read(path.read_bytes(), tmp_path)


def test_every_file_of_the_corpus_has_a_target() -> None:
    assert {path.name for path in FOLDER.iterdir()} <= {HTTP, *READERS}


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"HTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n", "status 500"),
        (b"", "no complete response"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort", "no complete response"),
        (
            b"HTTP/1.1 400 X\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
            "an error with the fields []",
        ),
    ],
    ids=["a failure", "silence", "a response that is cut", "an error of another shape"],
)
def test_the_fuzzer_sees(data: bytes, fault: str) -> None:
    asked = b"GET /api/v1/me HTTP/1.1\r\nConnection: close\r\n\r\n"

    assert faults_of(asked, Answer(data, ended=True)) == [fault]
