"""Compressed responses and conditional requests, as HTTP clients negotiate them."""

from __future__ import annotations

import gzip
from typing import Any

import httpx
import orjson
import pytest
import zstandard

from mcp_server.http.requests import best_coding
from mcp_server.http.responses import CODINGS
from tests.service import Service


def raw(service: Service, path: str, **headers: str) -> tuple[httpx.Response, bytes]:
    """A response, and its body as it was sent."""
    headers = {"Authorization": f"Bearer {service.key}", "Accept-Encoding": "", **headers}
    with httpx.stream("GET", service.base + path, headers=headers) as answer:
        return answer, b"".join(answer.iter_raw())


@pytest.mark.parametrize("path", ["/tickers/AAPL/history", "/scan?status=all", "/openapi.json"])
@pytest.mark.parametrize("coding", ["zstd", "gzip"])
def test_a_large_stored_answer_is_compressed_for_who_can_read_it(
    service: Service, path: str, coding: str
) -> None:
    plain, body = raw(service, path)
    answer, packed = raw(service, path, **{"Accept-Encoding": coding})

    unpack: Any = zstandard.ZstdDecompressor().decompress if coding == "zstd" else gzip.decompress
    assert answer.headers["content-encoding"] == coding
    assert int(answer.headers["content-length"]) == len(packed) < len(body)
    assert unpack(packed) == body
    assert "content-encoding" not in plain.headers
    assert "Accept-Encoding" in answer.headers["vary"]
    assert "Accept-Encoding" in plain.headers["vary"]


def test_each_form_has_an_etag_of_its_own_that_is_honoured(service: Service) -> None:
    path, tags = "/tickers/AAPL/history", set()
    for coding in ("", "gzip", "zstd"):
        answer, _body = raw(service, path, **{"Accept-Encoding": coding})
        tag = answer.headers["etag"]
        tags.add(tag)

        again, body = raw(service, path, **{"Accept-Encoding": coding, "If-None-Match": tag})

        assert (again.status_code, body) == (304, b"")
        assert again.headers["etag"] == tag
    assert len(tags) == 3


def test_a_small_answer_is_not_worth_compressing(service: Service) -> None:
    answer, body = raw(service, "/me", **{"Accept-Encoding": "gzip, zstd"})

    assert "content-encoding" not in answer.headers
    assert orjson.loads(body)["key"]


@pytest.mark.parametrize(
    ("field", "coding"),
    [
        ("gzip, deflate, br, zstd", "zstd"),
        ("gzip", "gzip"),
        ("GZIP", "gzip"),
        ("zstd;q=0.1, gzip;q=0.9", "gzip"),
        ("zstd;q=0, gzip;q=0", None),
        ("zstd; q=0, *", "gzip"),
        ("*", "zstd"),
        ("br", None),
        ("identity", None),
        ("", None),
        ("gzip;q=abc", None),
        (";;,,=", None),
    ],
)
def test_the_best_offered_coding_is_chosen(field: str, coding: str | None) -> None:
    assert best_coding(field.encode(), CODINGS) == coding
