"""Client documents on a real https server, and an Internet in which every host is that server."""

from __future__ import annotations

import datetime as dt
import socket
import socketserver
import ssl
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpcore2
import orjson
import trustme

from oauth.client_documents import TRIED
from oauth.fetching import Fetcher, Resolve

HOST = "app.example.com"
PUBLIC = "93.184.215.14"
CALLBACK = "http://127.0.0.1:33418/callback"


def address(path: str = "/client.json", host: str = HOST) -> str:
    """The address of a document, which is its client's id."""
    return f"https://{host}{path}"


def document(client_id: str, /, **changes: Any) -> bytes:
    """A valid document of a client; None leaves a field out."""
    fields = {
        "client_id": client_id,
        "client_name": "Document host",
        "redirect_uris": [CALLBACK],
        "token_endpoint_auth_method": "none",
        **changes,
    }
    return orjson.dumps({name: value for name, value in fields.items() if value is not None})


def response(body: bytes, status: str = "200 OK", **headers: str) -> bytes:
    """A whole HTTP response; an underscore in a header's name is a hyphen."""
    fields = {"Content_Type": "application/json", "Content_Length": str(len(body)), **headers}
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in fields.items() if value]
    return "\r\n".join([f"HTTP/1.1 {status}", *lines, "", ""]).encode() + body


class DocumentServer(socketserver.ThreadingTCPServer):
    """Answers each path over TLS with exactly the bytes that were given for it."""

    daemon_threads = True

    def __init__(self, certificate: trustme.LeafCert) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: dict[str, bytes] = {}
        self.endless: dict[str, tuple[bytes, float]] = {}
        """Paths whose response goes on with these bytes, again after so many seconds."""
        self.silent = False
        """Whether connections are taken and nothing is ever said, not even TLS."""
        self.asked: list[str] = []
        self.closing = threading.Event()
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        certificate.configure_cert(self.tls)

    @property
    def port(self) -> int:
        return int(self.server_address[1])


class _Handler(socketserver.BaseRequestHandler):
    server: DocumentServer

    def handle(self) -> None:
        if self.server.silent:
            self.server.closing.wait()
            return
        try:
            with self.server.tls.wrap_socket(self.request, server_side=True) as stream:
                self._answer(stream)
        except OSError:
            return

    def _answer(self, stream: ssl.SSLSocket) -> None:
        asked = b""
        while not asked.endswith(b"\r\n\r\n"):
            asked += stream.recv(4096)
        self.server.asked.append(asked.decode())
        path = asked.split(b" ")[1].decode()
        stream.sendall(self.server.answers[path])
        more, pause = self.server.endless.get(path, (b"", 0))
        while more and not self.server.closing.wait(pause):
            stream.sendall(more)


@dataclass
class Wires(httpcore2.AnyIOBackend):
    """Connects every address to one local port, and records the requested addresses."""

    port: int
    asked: list[tuple[str, int]] = field(default_factory=list)
    dead: frozenset[str] = frozenset()
    """Addresses at which nobody answers."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,  # noqa: ARG002 - httpcore2's interface
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,  # noqa: ARG002
    ) -> httpcore2.AsyncNetworkStream:
        self.asked.append((host, port))
        if host in self.dead:
            raise httpcore2.ConnectError("Nobody is there.")
        return await super().connect_tcp("127.0.0.1", self.port, timeout)


@dataclass
class Names:
    """A resolver that gives prepared answers in turn, and then the last one again and again."""

    answers: list[Sequence[str]]
    asked: list[tuple[str, int]] = field(default_factory=list)

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append((host, port))
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


async def offline(_host: str, _port: int) -> Sequence[str]:
    """A resolver without a network."""
    raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")


@dataclass(frozen=True)
class Internet:
    """The server, and what a fetcher needs to find it under a public name."""

    server: DocumentServer
    authority: trustme.CA
    wires: Wires

    def fetcher(
        self, *addresses: Sequence[str], seconds: float = 20, resolve: Resolve | None = None
    ) -> Fetcher:
        """A fetcher whose resolver gives these answers, one after the other."""
        tls = ssl.create_default_context()
        self.authority.configure_trust(tls)
        names = Names(list(addresses) or [[PUBLIC]])
        return Fetcher(resolve or names, self.wires, tls, seconds=seconds)

    def publish(self, path: str = "/client.json", /, **changes: Any) -> str:
        """Put a valid document with some changes at a path; returns the id of its client."""
        client_id = address(path)
        self.server.answers[path] = response(document(client_id, **changes))
        return client_id


@contextmanager
def internet(
    issuer: trustme.CA | None = None, not_after: dt.datetime | None = None
) -> Iterator[Internet]:
    """A running server; by default, its certificate is issued by the trusted authority."""
    authority = trustme.CA()
    tried = (urlsplit(each).netloc for each in TRIED)
    certificate = (issuer or authority).issue_cert(HOST, *tried, not_after=not_after)
    with DocumentServer(certificate) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield Internet(server, authority, Wires(server.port))
        finally:
            server.closing.set()
            server.shutdown()
            thread.join()
