"""What the doctor says of a proxy that does it wrong, and of whoever else answers."""

from __future__ import annotations

import json
import re
import socket
import ssl
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import trustme

from screener.doctor.proxy import FORGED, TRIES, proxy
from screener.doctor.result import CheckResult
from screener.settings.setting_types import StoreAddress
from screener.settings.settings import Settings
from tests.screener.local_server import Quiet, answering

CALLER = "127.0.0.2"
"""From which the doctor asks on Linux."""

pytestmark = pytest.mark.skipif(not Path("/proc").exists(), reason="loopback has one address")

BELIEVED = [f"{FORGED}, {CALLER}"]
FIELD = "X-Forwarded-For"


class Answer(NamedTuple):
    """What a server says to every request."""

    body: bytes = b""
    status: int = 200
    trickles: bool = False
    others: int = 0
    """Requests before it, which a balancer leads to servers that know no such address."""


@contextmanager
def serving(answer: Answer, tls: ssl.SSLContext | None = None) -> Iterator[str]:
    """A server with one answer, or with a byte of one after the other; its address."""
    ended, numbers = threading.Event(), count()

    class Proxy(Quiet, BaseHTTPRequestHandler):
        def handle_one_request(self) -> None:
            self.raw_requestline = self.rfile.readline()
            if self.raw_requestline and self.parse_request():
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                self.send_response(404 if next(numbers) < answer.others else answer.status)
                with suppress(OSError):  # the doctor has gone
                    while answer.trickles and not ended.wait(0.02):
                        self.wfile.write(b"X")
                self.end_headers()
                self.wfile.write(answer.body)
            self.close_connection = True

    with answering(Proxy, tls) as server:
        try:
            scheme = "http" if tls is None else "https"
            yield f"{scheme}://localhost:{server.server_port}"
        finally:
            ended.set()


@pytest.fixture
def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> trustme.CA:
    """An authority that this process trusts."""
    made = trustme.CA()
    made.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    return made


def tls_of(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    return context


@pytest.fixture
def chosen(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path, trusted_proxies=("127.0.0.0/8",))


def arrived(**changes: Any) -> bytes:
    told = {
        "client": CALLER,
        "scheme": "http",
        "host": "elsewhere",
        "forwarded_for": BELIEVED,
        "forwarded_proto": ["http"],
    }
    return json.dumps(told | changes).encode()


def only(found: Iterator[CheckResult], name: str) -> CheckResult:
    (one,) = [each for each in found if each.name == name]
    return one


@pytest.mark.parametrize(
    ("changes", "name", "level", "words"),
    [
        ({}, FIELD, "ok", "told apart"),
        ({}, "Host", "fault", "elsewhere arrives instead of localhost"),
        ({"host": None}, "Host", "fault", "let the proxy keep it"),
        ({}, "X-Forwarded-Proto", "ok", "http"),
        ({"scheme": "https"}, "X-Forwarded-Proto", "fault", "takes the call for https"),
        ({"client": "10.0.0.9", "forwarded_for": []}, FIELD, "fault", "not arrive"),
        ({"client": "10.0.0.9", "forwarded_for": [FORGED]}, FIELD, "fault", "does not arrive"),
        ({"client": "10.0.0.9"}, FIELD, "fault", "SCREENER_TRUSTED_PROXIES=10.0.0.9"),
        ({"client": None}, FIELD, "fault", "not believed"),
        ({"client": FORGED}, FIELD, "warning", "narrow it"),
        ({"client": FORGED, "forwarded_for": []}, FIELD, "fault", "pose as another"),
        ({"client": FORGED, "forwarded_for": [FORGED]}, FIELD, "fault", "pose as another"),
    ],
)
def test_what_arrives_is_judged(
    chosen: Settings, changes: dict[str, Any], name: str, level: str, words: str
) -> None:
    with serving(Answer(arrived(**changes))) as url:
        found = only(proxy(chosen, url), name)

    assert found.level == level
    assert words in found.words


@pytest.mark.parametrize(
    ("came", "said"), [(["gopher"], "gopher arrives"), ([], "nothing arrives")]
)
def test_a_call_that_is_taken_for_http_is_a_fault(
    chosen: Settings, authority: trustme.CA, came: list[str], said: str
) -> None:
    with serving(Answer(arrived(forwarded_proto=came)), tls_of(authority)) as url:
        found = only(proxy(chosen, url), "X-Forwarded-Proto")

    assert found.level == "fault"
    assert said in found.words


@pytest.mark.parametrize(
    "answer",
    [
        Answer(b"{}"),
        Answer(b"[1]"),
        Answer(b'{"client": 1}'),
        Answer(b"\xff\xfe"),
        Answer(b"<html>"),
        Answer(),
        Answer(arrived(), 404),
        Answer(b"", 413),
    ],
)
def test_an_answer_of_somebody_else_is_one_fault(chosen: Settings, answer: Answer) -> None:
    with serving(answer) as url:
        (found,) = proxy(chosen, url)

    assert (found.level, found.name) == ("fault", "service")


def test_of_several_servers_of_a_store_the_one_of_this_folder_is_asked(chosen: Settings) -> None:
    def levels(settings: Settings, others: int) -> set[str]:
        with serving(Answer(arrived(), others=others)) as url:
            return {one.level for one in proxy(settings, url) if one.name == "service"}

    shared = chosen.model_copy(update={"nights_url": StoreAddress("s3://nights")})
    assert levels(shared, TRIES - 1) == {"ok"}
    assert levels(shared, TRIES) == {"fault"}
    assert levels(chosen, 1) == {"fault"}


def test_a_certificate_of_nobody_known_is_a_fault(chosen: Settings) -> None:
    with serving(Answer(), tls_of(trustme.CA())) as url:
        (found,) = proxy(chosen, url)

    assert (found.level, found.name) == ("fault", "TLS")


@pytest.mark.parametrize("late", [False, True])
def test_a_server_that_ends_the_connection_is_a_fault_in_words(
    chosen: Settings, *, late: bool
) -> None:
    def end() -> None:
        connection, _ = server.accept()
        if late:
            connection.recv(1000)
        # Ended with a reset, as by a proxy that has nobody behind it.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=end, daemon=True).start()
        (found,) = proxy(chosen, f"http://localhost:{server.getsockname()[1]}")

    assert (found.level, found.name) == ("fault", "service")
    assert re.search(r"reset by peer|Broken pipe", found.words)


def test_an_answer_that_trickles_ends_all_checks_in_time(chosen: Settings) -> None:
    with serving(Answer(trickles=True)) as url:
        (found,) = proxy(chosen, url, seconds=0.2)

    assert found.level == "fault"
    assert "does not answer in time" in found.words
