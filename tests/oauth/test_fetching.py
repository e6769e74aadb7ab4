"""Fetching of client documents, against a real https server."""

from __future__ import annotations

import datetime as dt
import gzip
from collections.abc import Sequence
from typing import Any

import anyio
import anyio.lowlevel
import httpcore2
import pytest
import trustme

from oauth.fetching import (
    AT_ONCE,
    MAX_BYTES,
    MAX_RECEIVED,
    PIECE,
    BoundedStream,
    FetchError,
    Resolver,
)
from tests.oauth.documents import PUBLIC, Internet, address, internet, offline, response

NO_ADDRESS = "no address, or one that is not public"
SECOND = "2606:4700::1111"


async def refused(net: Internet, path: str, answer: bytes) -> str:
    """The reason why a response is refused."""
    net.server.answers[path] = answer
    with pytest.raises(FetchError) as caught:
        await net.fetcher().read(address(path))
    return str(caught.value)


@pytest.mark.parametrize(
    ("cache_control", "max_age"),
    [
        ("", None),
        ("max-age=60", 60),
        ('public, Max-Age="7"', 7),
        ("max-age=60, no-store", 0),
        ("no-cache", 0),
        ("max-age=9, max-age=5", 5),
        ("max-age=-1", None),
        ("max-age=9999999999", None),
        ("s-maxage=5", None),
    ],
)
async def test_a_document_comes_with_the_time_for_which_it_may_be_kept(
    net: Internet, cache_control: str, max_age: int | None
) -> None:
    path = f"/kept-{max_age}-{len(cache_control)};v=1?a=b"
    net.server.answers[path] = response(b'{"a":1}', Cache_Control=cache_control)
    document = await net.fetcher().read(address(path))

    assert document.body == b'{"a":1}'
    assert document.max_age == max_age


async def test_a_request_names_the_host_and_says_nothing_of_anybody(net: Internet) -> None:
    net.server.answers["/said?x=1"] = response(b"{}")
    await net.fetcher().read(address("/said?x=1"))
    asked = next(asked for asked in net.server.asked if "/said" in asked)

    assert asked.startswith("GET /said?x=1 HTTP/1.1\r\nHost: app.example.com\r\n")
    assert "Accept-Encoding: identity\r\n" in asked
    names = {line.partition(":")[0].lower() for line in asked.split("\r\n")[1:] if line}
    assert names == {"host", "accept", "accept-encoding", "connection", "user-agent"}


@pytest.mark.parametrize(
    "kind", ["application/json", "application/json; charset=utf-8", "application/oauth.client+json"]
)
async def test_json_goes_by_several_names(net: Internet, kind: str) -> None:
    net.server.answers["/kind"] = response(b"{}", Content_Type=kind)

    assert (await net.fetcher().read(address("/kind"))).body == b"{}"


@pytest.mark.parametrize(
    "kind", ["", "text/html", "text/json", "application/jsonp", "application/javascript", "+json"]
)
async def test_another_content_type_is_refused(net: Internet, kind: str) -> None:
    assert "content type" in await refused(net, "/type", response(b"{}", Content_Type=kind))


@pytest.mark.parametrize(
    "status", ["301 Moved", "302 Found", "307 Temporary", "308 Permanent", "204 None", "404 No"]
)
async def test_a_redirect_is_not_followed_and_no_other_status_will_do(
    net: Internet, status: str
) -> None:
    there = address("/there")
    net.server.answers["/there"] = response(b"{}")

    assert status[:3] in await refused(net, "/moved", response(b"{}", status, Location=there))
    assert not any(asked.startswith("GET /there ") for asked in net.server.asked)


async def test_compressed_answers_are_refused_unread(net: Internet) -> None:
    bomb = gzip.compress(b" " * 10_000_000)
    answer = response(bomb[:2000], Content_Encoding="gzip", Content_Length="2000")

    assert "compressed" in await refused(net, "/bomb", answer)


async def test_five_kilobytes_are_read_and_not_one_more(net: Internet) -> None:
    full = b" " * MAX_BYTES
    net.server.answers["/full"] = response(full)

    assert (await net.fetcher().read(address("/full"))).body == full
    assert "over 5 KB" in await refused(net, "/more", response(full + b" "))


async def test_a_stated_length_is_not_believed(net: Internet) -> None:
    chunk = b"1000\r\n" + b" " * 4096 + b"\r\n"
    head = response(b"", Content_Length="", Transfer_Encoding="chunked")
    open_ended = response(b" " * (MAX_BYTES + 1), Content_Length="")

    assert "over 5 KB" in await refused(net, "/chunked", head + chunk * 2 + b"0\r\n\r\n")
    assert "over 5 KB" in await refused(net, "/open", open_ended)
    assert "as it should" in await refused(net, "/short", response(b"{}", Content_Length="3"))


@pytest.mark.parametrize("answer", [b"", b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\n"])
async def test_what_is_not_http_is_refused(net: Internet, answer: bytes) -> None:
    assert "as it should" in await refused(net, "/nonsense", answer)


@pytest.mark.parametrize("begun", [response(b"", Content_Length="4000"), b"HTTP/1.1 200 OK\r\nX:"])
async def test_a_slow_drip_ends_with_the_time(net: Internet, begun: bytes) -> None:
    net.server.answers["/drip"] = begun
    net.server.endless["/drip"] = (b" ", 0.01)

    with pytest.raises(FetchError, match=r"within 0\.3 seconds"):
        await net.fetcher(seconds=0.3).read(address("/drip"))


async def test_only_so_many_are_read_at_once_and_the_others_wait(net: Internet) -> None:
    net.server.answers["/queue"] = response(b"{}")
    opened, asked, read = anyio.Event(), list[str](), list[bytes]()

    async def resolve(host: str, _port: int) -> Sequence[str]:
        asked.append(host)
        await opened.wait()
        return [PUBLIC]

    fetcher = net.fetcher(resolve=resolve)

    async def fetch() -> None:
        read.append((await fetcher.read(address("/queue"))).body)

    async with anyio.create_task_group() as group:
        for _ in range(AT_ONCE + 3):
            group.start_soon(fetch)
        await anyio.wait_all_tasks_blocked()
        waiting = len(asked)
        opened.set()

    assert waiting == AT_ONCE
    assert read == [b"{}"] * (AT_ONCE + 3)


async def test_only_https_is_spoken(net: Internet) -> None:
    with pytest.raises(FetchError, match="not https"):
        await net.fetcher().read("http://app.example.com/client.json")


async def test_a_certificate_of_another_host_is_refused(net: Internet) -> None:
    net.server.answers["/other"] = response(b"{}")
    with pytest.raises(FetchError, match="as it should"):
        await net.fetcher().read(address("/other", "other.example.com"))

    assert not any(asked.startswith("GET /other ") for asked in net.server.asked)


@pytest.mark.parametrize(
    "fault", [{"issuer": trustme.CA()}, {"not_after": dt.datetime(2020, 1, 1, tzinfo=dt.UTC)}]
)
async def test_a_certificate_that_has_expired_or_of_an_unknown_authority_is_refused(
    fault: dict[str, Any],
) -> None:
    with internet(**fault) as impostor:
        with pytest.raises(FetchError, match="as it should"):
            await impostor.fetcher().read(address())
        assert impostor.server.asked == []


@pytest.mark.parametrize(
    "addresses",
    [
        *(["127.0.0.1"], ["::1"], ["10.1.2.3"], ["100.64.0.1"], ["169.254.169.254"], ["fe80::1"]),
        *(["224.0.0.1"], ["240.0.0.1"], ["::ffff:10.0.0.1"], ["64:ff9b::a00:1"], ["2002:a00:1::1"]),
        *([PUBLIC, "10.0.0.1"], []),
    ],
)
async def test_no_host_with_a_private_address_is_connected(
    net: Internet, addresses: Sequence[str]
) -> None:
    before = len(net.wires.asked)
    with pytest.raises(FetchError, match=NO_ADDRESS):
        await net.fetcher(addresses).read(address())

    assert len(net.wires.asked) == before


async def test_the_address_that_was_checked_is_the_one_connected() -> None:
    """DNS rebinding: a name is resolved once, so a second answer has no effect."""
    with internet() as net:
        net.server.answers["/client.json"] = response(b"{}")
        fetcher = net.fetcher([PUBLIC], ["127.0.0.1"])
        await fetcher.read(address())
        with pytest.raises(FetchError, match=NO_ADDRESS):
            await fetcher.read(address())

        assert net.wires.asked == [(PUBLIC, 443)]


async def test_the_next_address_is_tried_where_one_does_not_answer() -> None:
    with internet() as net:
        net.server.answers["/client.json"] = response(b"{}")
        net.wires.dead = frozenset({SECOND})

        assert (await net.fetcher([SECOND, PUBLIC]).read(address())).body == b"{}"
        assert [host for host, _ in net.wires.asked] == [SECOND, PUBLIC]
        with pytest.raises(FetchError, match="as it should"):
            await net.fetcher([SECOND] * 9).read(address())
        assert len(net.wires.asked) == 5


async def test_the_systems_resolver_finds_what_is_there_and_says_so_if_nothing_is() -> None:
    resolve = Resolver()

    assert set(await resolve("localhost", 443)) & {"127.0.0.1", "::1"}
    with pytest.raises(OSError):
        await resolve("nothing.invalid", 443)


ENDLESS = {
    "interim responses": (b"", b"HTTP/1.1 100 C\r\n\r\n" * 500),
    "fields": (b"HTTP/1.1 200 OK\r\n", b"a: b\r\n" * 500),
    "one field": (b"HTTP/1.1 200 OK\r\na: ", b"b" * 4000),
    "chunks of a byte": (
        response(b"", Content_Length="", Transfer_Encoding="chunked"),
        b"1\r\n \r\n" * 500,
    ),
    "one extension of a chunk": (
        response(b"", Content_Length="", Transfer_Encoding="chunked") + b"1;",
        b"a" * 4000,
    ),
    "a body": (response(b"", Content_Length="9999999999"), b" " * 4000),
}


@pytest.mark.parametrize(("begun", "more"), ENDLESS.values(), ids=ENDLESS)
async def test_what_never_ends_is_refused_long_before_the_time_is_up(
    net: Internet, begun: bytes, more: bytes
) -> None:
    """Twenty seconds of it would be parsed without a pause in which others are served."""
    net.server.answers["/endless"], net.server.endless["/endless"] = begun, (more, 0)
    with pytest.raises(FetchError, match=r"is over (5|21) KB"):
        await net.fetcher().read(address("/endless"))


async def test_others_are_served_while_a_fast_response_is_parsed() -> None:
    class Burst(httpcore2.AsyncNetworkStream):
        """A connection on which everything has come at once."""

        async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002
            return b" " * max_bytes

    stream, turns = BoundedStream(Burst()), 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await anyio.lowlevel.checkpoint()

    async with anyio.create_task_group() as group:
        group.start_soon(other)
        pieces = [len(await stream.read(65_536)) for _ in range(MAX_RECEIVED // PIECE)]
        group.cancel_scope.cancel()

    assert max(pieces) == PIECE
    assert turns >= len(pieces)
    with pytest.raises(FetchError, match="over 21 KB"):
        await stream.read(65_536)


async def test_a_server_that_takes_connections_and_says_nothing_ends_with_the_time() -> None:
    with internet() as net:
        net.server.silent = True
        with pytest.raises(FetchError, match=r"within 0\.3 seconds"):
            await net.fetcher(seconds=0.3).read(address())


async def test_a_name_that_is_never_resolved_ends_with_the_time(net: Internet) -> None:
    async def resolve(_host: str, _port: int) -> Sequence[str]:
        await anyio.sleep_forever()
        raise AssertionError

    with pytest.raises(FetchError, match=r"within 0\.3 seconds"):
        await net.fetcher(seconds=0.3, resolve=resolve).read(address())


async def test_a_name_that_cannot_be_resolved_is_told_like_a_private_one(net: Internet) -> None:
    with pytest.raises(FetchError, match=NO_ADDRESS):
        await net.fetcher(resolve=offline).read(address())
