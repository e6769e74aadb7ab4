"""An exchange: the bytes of a request, what came back, and what is wrong with that.

A request is kept as the bytes that are sent, in which `@HOST@`, `@KEY@`, `@SESSION@` and `@TOKEN@`
stand for the server's address, an API key, the cookie of a signed-in browser, and the token of the
form at the request's own address; `@ONCE@` for the token of a form that works once.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import io
import json
import re
import socket
from dataclasses import dataclass
from email.message import Message
from http.client import HTTPException, HTTPResponse
from typing import Any, cast

from screener.web.site.forms import form_token, once_token

PATIENCE = 30.0
"""Seconds in which a response to a complete request must be finished."""
PAUSE = 0.05
"""Seconds without an answer after which a client that sent too little says that this was all."""
STATUS = re.compile(rb"^HTTP/1\.1 (\d{3})", re.MULTILINE)


@dataclass(frozen=True)
class Visitor:
    """Who sends the requests: a server's address, a key, and the token of a session."""

    host: str
    port: int
    key: str
    session: str

    def fill(self, data: bytes) -> bytes:
        """The bytes that are sent; the length of a body follows what was filled in."""
        if b"@" not in data:
            return data
        address = data[:4096].split(b" ", 2)[1:2]
        action = address[0].decode("latin-1") if address else "/"
        secret = self.session if b"@SESSION@" in data else "fuzz"  # the value of the cookie visit
        length = _length(data)
        for name, value in (
            (b"@HOST@", f"{self.host}:{self.port}"),
            (b"@KEY@", self.key),
            (b"@SESSION@", f"session={self.session}"),
            (b"@TOKEN@", form_token(secret, action)),
            (b"@ONCE@", once_token(secret, action, dt.datetime.now(dt.UTC))),
        ):
            data = data.replace(name, value.encode())
        if length is None:
            return data
        head, _, body = data.partition(b"\r\n\r\n")
        return _LENGTH.sub(b"Content-Length: %d" % len(body), head, count=1) + b"\r\n\r\n" + body


_LENGTH = re.compile(rb"Content-Length: (\d+)", re.IGNORECASE)


def _length(data: bytes) -> int | None:
    """The length of the body if the head states it rightly; None otherwise."""
    head, end, body = data.partition(b"\r\n\r\n")
    stated = _LENGTH.findall(head)
    right = end and len(stated) == 1 and int(stated[0][:9]) == len(body)
    return len(body) if right else None


def request(
    method: str, path: str, headers: dict[str, str] | None = None, body: bytes = b""
) -> bytes:
    """The bytes of one request whose response ends the connection."""
    fields = {"Host": "@HOST@", **(headers or {}), "Connection": "close"}
    if body or method in ("POST", "PUT", "PATCH"):
        fields["Content-Length"] = str(len(body))
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace") + body


@dataclass(frozen=True)
class Answer:
    """What came back of one request or of several, up to the end of the connection."""

    data: bytes
    ended: bool
    """Whether the server closed the connection in time."""
    reset: bool = False
    """Whether it did so while it was still being sent to, as with a head that is too long: then its
    answer may be lost."""

    @property
    def statuses(self) -> list[int]:
        """The status of each response."""
        return [int(status) for status in STATUS.findall(self.data)]


def send(visitor: Visitor, data: bytes) -> Answer:
    """Send bytes over a connection of their own, and read until it is closed.

    A complete request is waited for. Otherwise, and where the server keeps the connection open, a
    pause makes the client say that this was all.
    """
    filled, received, said = visitor.fill(data), bytearray(), False
    with socket.create_connection((visitor.host, visitor.port), timeout=PATIENCE) as connection:
        with contextlib.suppress(OSError):  # the server may answer and close before it has all
            connection.sendall(filled)
        connection.settimeout(PATIENCE if _whole(filled) else PAUSE)
        while True:
            try:
                piece = connection.recv(65_536)
                if not piece:
                    return Answer(bytes(received), ended=True)
                received += piece
                connection.settimeout(PATIENCE if said else PAUSE)
            except TimeoutError:
                if said or connection.gettimeout() == PATIENCE:
                    return Answer(bytes(received), ended=False)
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_WR)
                connection.settimeout(PATIENCE)
                said = True
            except ConnectionError:
                return Answer(bytes(received), ended=True, reset=True)


def _whole(data: bytes) -> bool:
    """Whether bytes are certainly a complete request."""
    head, end, body = data.partition(b"\r\n\r\n")
    if _length(data) is not None:
        return True
    framed = re.search(rb"^(content-length|transfer-encoding)", head, re.MULTILINE | re.IGNORECASE)
    return bool(end) and not body and framed is None


class _Received(io.BytesIO):
    """The received bytes as the socket and the file that `HTTPResponse` reads."""

    def makefile(self, _mode: str) -> _Received:
        return self

    def close(self) -> None:
        """Stays open, because another response may follow."""


def read_response(answer: Answer, method: str) -> tuple[int, Message, bytes] | None:
    """The first response: status, header fields and body; None if there is none or it is cut."""
    response = HTTPResponse(cast("Any", _Received(answer.data)), method=method)
    try:
        response.begin()
        return response.status, response.headers, response.read()
    except (HTTPException, ValueError):
        return None


def faults_of(data: bytes, answer: Answer) -> list[str]:
    """What is wrong with the answer to a request, whatever that was: one sentence each."""
    found = [f"status {status}" for status in answer.statuses if status >= 500 and status != 503]
    if not answer.ended:
        found.append("the connection does not end")
    method, path = _line(data)
    if found or answer.reset or not _whole(data) or not path.startswith("/"):
        return found
    response = read_response(answer, method)
    return ["no complete response"] if response is None else shape_faults(path, *response)


def shape_faults(path: str, status: int, headers: Message, body: bytes) -> list[str]:
    """What is wrong with the form of an error in JSON."""
    if status < 400 or headers.get_content_type() != "application/json" or not body:
        return []
    try:
        error = json.loads(body)
    except ValueError:
        return ["an error that is not JSON, though it says so"]
    if not isinstance(error, dict):
        return ["an error that is no object"]
    if "jsonrpc" in error:
        told = error.get("error")
        right = isinstance(told, dict) and {"code", "message"} <= told.keys() and "id" in error
        return [] if right else ["an error that is not one of JSON-RPC"]
    oauth = path.startswith(("/oauth/", "/mcp"))
    needed = {"error"} if oauth else {"error", "message", "fix", "docs_url"}
    if not needed <= error.keys() or not isinstance(error["error"], str):
        return [f"an error with the fields {sorted(error)}"]
    return []


def _line(data: bytes) -> tuple[str, str]:
    words = data.partition(b"\r\n")[0].decode("latin-1").split(" ")
    return (words[0], words[1]) if len(words) == 3 else ("", "")
