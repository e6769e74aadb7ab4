"""Client documents: which ids are addresses, what a document must say, how often it is read."""

from __future__ import annotations

import datetime as dt
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from mcp_server.calls.errors import PageRefusal
from mcp_server.limits.limits import Limiter, Quotas
from oauth.client_documents import (
    MAX_CLIENT_ID,
    MAX_PAUSES,
    PAUSE,
    ClientDocuments,
    document_host,
    lifetime,
)
from oauth.fetching import NETWORK_SHARE, Document, FetchError
from store.accounts.clients import Client
from store.accounts.grants import Grants
from tests.accounts import accounts_in
from tests.oauth.documents import CALLBACK, Internet, address, document, response

START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
HERE = "192.0.2.1"
LATER = "https://app.example.com/later"


def limiter(per_minute: int) -> Limiter:
    return Limiter(Quotas(apps_per_minute=per_minute))


@dataclass
class Reader:
    """Client documents under a fixed clock, with the reads counted."""

    net: Internet
    grants: Grants
    now: dt.datetime = START
    read: list[str] = field(default_factory=list)

    def documents(self, per_minute: int = 100) -> ClientDocuments:
        fetcher = self.net.fetcher()

        async def read(url: str) -> Document:
            self.read.append(url)
            return await fetcher.read(url)

        return ClientDocuments(self.grants, read, limiter(per_minute), lambda: self.now)


@pytest.fixture
async def reader(net: Internet, tmp_path: Path) -> AsyncIterator[Reader]:
    async with accounts_in(tmp_path) as database:
        yield Reader(net, Grants(database))


async def refused(reader: Reader, client_id: str) -> str:
    """The message with which a client is refused; checks that nothing of it is stored."""
    with pytest.raises(PageRefusal) as caught:
        await reader.documents().client(client_id, HERE)
    assert await reader.grants.client(client_id) is None
    assert caught.value.status == 400
    return caught.value.message


@pytest.mark.parametrize(
    ("client_id", "host"),
    [
        ("https://app.example.com/client.json", "app.example.com"),
        ("https://app.example.com:8443/a/b", "app.example.com:8443"),
        ("https://xn--bcher-kva.example/~x/%20;v=1?a=b/c?", "xn--bcher-kva.example"),
        ("https://a.co/..x/.well-known/", "a.co"),
    ],
)
def test_the_address_of_a_document_is_an_id(client_id: str, host: str) -> None:
    assert document_host(client_id) == host


@pytest.mark.parametrize(
    "client_id",
    [
        *("http://app.example.com/c", "HTTPS://app.example.com/c", "https:app.example.com/c"),
        *("https:/app.example.com/c", "https:///c", "//app.example.com/c"),
        *("ftp://app.example.com/c", "https://app.example.com", "https://app.example.com/"),
        *("https://app.example.com?c", "https://app.example.com/c#x", "https://app.example.com/c#"),
        *("https://app.example.com/c?", "https://user@app.example.com/c"),
        *("https://user:word@app.example.com/c", "https://@app.example.com/c"),
        *("https://app.example.com/./c", "https://app.example.com/a/../c"),
        *("https://app.example.com/a/..", "https://app.example.com/%2e%2E/c"),
        *("https://app.example.com/a%2fc", "https://app.example.com/a%5Cc"),
        *("https://app.example.com/a\\c", "https://app.example.com\\@evil.example/c"),
        *("https://app.example.com/c%0d%0aX:y", "https://app.example.com/c%00"),
        *("https://app.example.com/c%7F", "https://app.example.com/c%"),
        *("https://app.example.com/c\n", "https://app.example.com/c d"),
        *("https://app.example.com/é", "https://APP.example.com/c", "https://app.example.com./c"),
        *("https://.app.example.com/c", "https://app..example.com/c", "https://-app.example.com/c"),
        *("https://app_.example.com/c", "https://bücher.example/c"),
        *("https://app.example.com%2eevil.example/c", "https://app.example.com:443/c"),
        *("https://app.example.com:/c", "https://app.example.com:0/c"),
        *("https://app.example.com:22/c", "https://app.example.com:1023/c"),
        *("https://app.example.com:65536/c", "https://app.example.com:08443/c"),
        *("https://localhost/c", "https://intranet/c", "https://127.0.0.1/c", "https://127.1/c"),
        *("https://93.184.215.14/c", "https://2130706433/c", "https://0x7f.0.0.1/c"),
        *("https://0177.0.0.1/c", "https://[::1]/c", "https://[2606:4700::1111]/c"),
        "https://" + "a" * 64 + ".example.com/c",
        "https://app.example.com/" + "x" * MAX_CLIENT_ID,
        "pso_client_1",
        "",
    ],
)
def test_an_odd_address_is_no_id(client_id: str) -> None:
    assert document_host(client_id) is None


async def test_a_document_becomes_a_public_client(reader: Reader) -> None:
    uris = [CALLBACK, "cursor://x/cb", "https://app.example.com/cb"]
    client_id = reader.net.publish("/public", client_name="Clau\u202ede ", redirect_uris=uris)
    client = await reader.documents().client(client_id, HERE)

    assert client == await reader.grants.client(client_id)
    assert (client.client_id, client.name) == (client_id, "Claude")
    assert client.redirect_uris == tuple(uris)
    assert (client.auth_method, client.secret_hash) == ("none", None)
    assert client.fresh_until == START + dt.timedelta(hours=1)


@pytest.mark.parametrize(
    "changes",
    [
        {"token_endpoint_auth_method": None},
        {"grant_types": ["refresh_token", "authorization_code", "password"]},
        {"scope": "anything at all"},
        {"logo_uri": "javascript:alert(1)", "jwks_uri": "http://169.254.169.254/", "x": [[]]},
        *({"client_name": name} for name in (None, "")),
    ],
)
async def test_a_document_may_say_more_or_less_and_its_host_is_a_name(
    reader: Reader, changes: dict[str, Any]
) -> None:
    client_id = reader.net.publish("/more", **changes)
    client = await reader.documents().client(client_id, HERE)

    assert client.auth_method == "none"
    assert client.name == ("app.example.com" if "client_name" in changes else "Document host")
    assert reader.read == [client_id]


@pytest.mark.parametrize(
    "client_id",
    [None, 1, "", "https://app.example.com/OTHER", "https://app.example.com:443/other"],
)
async def test_a_document_of_another_client_is_refused(reader: Reader, client_id: Any) -> None:
    published = reader.net.publish("/other", client_id=client_id)

    assert "client_id is not its address" in await refused(reader, published)


NOT_NONE = "token_endpoint_auth_method is not none"
METHODS = ("client_secret_basic", "client_secret_post", "client_secret_jwt", "private_key_jwt")


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        *(("redirect_uris", value, "cannot be used") for value in (None, [], [CALLBACK] * 21)),
        ("redirect_uris", [CALLBACK, "file:///etc/passwd"], "cannot be used"),
        *(("token_endpoint_auth_method", value, NOT_NONE) for value in METHODS),
        *(("token_endpoint_auth_method", value, NOT_NONE) for value in ("x", ["none"], 1)),
        *((name, 0, "a secret") for name in ("client_secret", "client_secret_expires_at")),
        ("client_name", 7, "cannot be used"),
        ("grant_types", ["password"], "cannot be used"),
    ],
)
async def test_a_document_is_held_to_the_rules_of_registration_and_has_no_secret(
    reader: Reader, field: str, value: Any, said: str
) -> None:
    assert said in await refused(reader, reader.net.publish("/odd", **{field: value}))


@pytest.mark.parametrize(
    "body",
    [
        b"[" + document(address("/none")) + b"]",
        document(address("/none"))[:-1],
        document(address("/none")) + b"{}",
        b"<html></html>",
    ],
)
async def test_what_is_no_json_object_is_refused(reader: Reader, body: bytes) -> None:
    """What else is none is proven by test_registration.py."""
    reader.net.server.answers["/none"] = response(body)

    assert "JSON" in await refused(reader, address("/none"))


@pytest.mark.parametrize(
    ("max_age", "minutes"),
    [(None, 60), (0, 5), (299, 5), (600, 10), (86_400, 1440), (999_999_999, 1440)],
)
def test_a_document_is_believed_within_bounds(max_age: int | None, minutes: int) -> None:
    assert lifetime(max_age) == dt.timedelta(minutes=minutes)


async def test_a_document_is_read_again_only_when_it_is_stale(reader: Reader) -> None:
    client_id = reader.net.publish("/stale", client_name="Before")
    documents = reader.documents()
    before = await documents.client(client_id, HERE)
    changed = reader.net.publish("/stale", client_name="After", redirect_uris=["app.x:/cb"])
    reader.now += dt.timedelta(minutes=59, seconds=59)
    still = await reader.documents().client(client_id, HERE)
    reader.now += dt.timedelta(seconds=1)
    after = await documents.client(changed, HERE)

    assert still == before
    assert reader.read == [client_id, client_id]
    assert (after.name, after.redirect_uris) == ("After", ("app.x:/cb",))
    assert after.created_at == before.created_at
    assert after.fresh_until == reader.now + dt.timedelta(hours=1)


async def test_a_stale_document_that_is_gone_stops_sign_in_and_costs_no_grant(
    reader: Reader,
) -> None:
    client_id = reader.net.publish("/leaves")
    before = await reader.documents().client(client_id, HERE)
    reader.net.server.answers["/leaves"] = response(b"{}", "410 Gone")
    reader.now += dt.timedelta(hours=1)

    with pytest.raises(PageRefusal, match="status 410"):
        await reader.documents().client(client_id, HERE)
    assert await reader.grants.client(client_id) == before


async def test_many_who_ask_at_once_share_one_read(reader: Reader) -> None:
    client_id = reader.net.publish("/once")
    documents, found = reader.documents(per_minute=1), list[Client]()

    async def ask() -> None:
        found.append(await documents.client(client_id, HERE))

    async with anyio.create_task_group() as group:
        for _ in range(12):
            group.start_soon(ask)

    assert reader.read == [client_id]
    assert found == [found[0]] * 12


async def test_slow_servers_of_one_network_leave_places_for_others(reader: Reader) -> None:
    opened, reading = anyio.Event(), list[str]()

    async def read(url: str) -> Document:
        reading.append(url)
        await opened.wait()
        raise FetchError("it is not there")

    documents = ClientDocuments(reader.grants, read, limiter(10_000), lambda: reader.now)

    async def ask(number: int, network: str) -> None:
        with pytest.raises(PageRefusal, match="not there"):
            await documents.client(f"{LATER}{number}", network)

    async with anyio.create_task_group() as group:
        for number in range(NETWORK_SHARE):
            group.start_soon(ask, number, HERE)
        await until(lambda: len(reading) == NETWORK_SHARE)
        with pytest.raises(PageRefusal, match="on your network") as caught:
            await documents.client(f"{LATER}8", HERE)
        group.start_soon(ask, 9, "198.51.100.7")
        await until(lambda: len(reading) == NETWORK_SHARE + 1)
        opened.set()

    assert (caught.value.status, caught.value.retry_after) == (503, 5)
    await ask(8, HERE)


async def until(holds: Callable[[], bool]) -> None:
    """Let others work until something holds."""
    while not holds():
        await anyio.lowlevel.checkpoint()


async def test_an_address_that_failed_is_left_alone_for_a_while(reader: Reader) -> None:
    reader.net.server.answers["/mended"] = response(b"no")
    documents, client_id = reader.documents(), address("/mended")
    with pytest.raises(PageRefusal):
        await documents.client(client_id, HERE)
    reader.net.publish("/mended")
    reader.now += PAUSE - dt.timedelta(seconds=1)
    with pytest.raises(PageRefusal, match="Wait 10 s") as caught:
        await documents.client(client_id, HERE)
    reader.now += dt.timedelta(seconds=1)

    assert (caught.value.status, caught.value.retry_after) == (503, 10)
    assert reader.read == [client_id]
    assert (await documents.client(client_id, HERE)).name == "Document host"


async def test_what_is_remembered_of_failures_is_bounded(reader: Reader) -> None:
    async def read(_url: str) -> Document:
        raise FetchError("it is not there")

    documents = ClientDocuments(reader.grants, read, limiter(10_000), lambda: reader.now)
    for number in range(MAX_PAUSES + 1):
        with pytest.raises(PageRefusal, match="not there"):
            await documents.client(f"{LATER}{number}", HERE)

    with pytest.raises(PageRefusal, match="not there"):
        await documents.client(f"{LATER}0", HERE)
    with pytest.raises(PageRefusal, match="Wait 10 s"):
        await documents.client(f"{LATER}{MAX_PAUSES}", HERE)


async def test_an_address_may_have_only_so_many_documents_read(reader: Reader) -> None:
    ids = [reader.net.publish(f"/many{number}") for number in range(4)]
    documents = reader.documents(per_minute=3)
    for client_id in ids[:3]:
        await documents.client(client_id, HERE)
    with pytest.raises(PageRefusal) as caught:
        await documents.client(ids[3], HERE)

    assert caught.value.status == 429
    assert 1 <= (caught.value.retry_after or 0) <= 60
    assert reader.read == ids[:3]
    assert (await documents.client(ids[0], HERE)).client_id == ids[0]
    assert (await documents.client(ids[3], "198.51.100.7")).client_id == ids[3]
