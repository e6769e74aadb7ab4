"""Decoding: how deep JSON may be."""

from __future__ import annotations

import json

import pytest

from mcp_server.calls.decoding import MAX_DEPTH, JsonError, decode


def nested(depth: int, inner: str = "") -> str:
    return "[" * depth + inner + "]" * depth


@pytest.mark.parametrize("depth", [0, 1, MAX_DEPTH])
@pytest.mark.parametrize("inner", ["1", '"["', "{}"])
def test_json_up_to_the_bound_is_decoded(depth: int, inner: str) -> None:
    """A text between brackets is no level, and an object is one."""
    text = nested(max(0, depth - (inner == "{}")), inner)

    assert decode(text) == json.loads(text)


@pytest.mark.parametrize(
    "text",
    [
        nested(MAX_DEPTH + 1),
        nested(1000),
        '{"a":' * (MAX_DEPTH + 1) + "1" + "}" * (MAX_DEPTH + 1),
        '[{"a":1},{"a":' * (MAX_DEPTH // 2) + "[]" + "}]" * (MAX_DEPTH // 2),
        "[" + "[]," * 5000 + nested(MAX_DEPTH) + "]",
        nested(30_000),
    ],
    ids=["65", "1000", "objects", "both", "wide", "30000"],
)
def test_json_that_is_deeper_is_refused(text: str) -> None:
    for given_text in (text, text.encode()):
        with pytest.raises(JsonError):
            decode(given_text)


def test_brackets_in_a_text_and_beside_one_another_are_not_depth() -> None:
    assert decode('"' + "[" * 5000 + '"') == "[" * 5000
    assert len(decode("[" + ",".join(["[]"] * 5000) + "]")) == 5000


@pytest.mark.parametrize("text", ["", "[", "nan", '"\\ud800"', b"\xff", "[1] 2"])
def test_what_is_not_json_is_refused(text: str | bytes) -> None:
    with pytest.raises(JsonError, match="not JSON"):
        decode(text)
