"""Decoding: how deep JSON may be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_server.operations.decoding import MAX_DEPTH, JsonError, decode


def nested(depth: int, inner: str = "") -> str:
    return "[" * depth + inner + "]" * depth


def depth_of(value: object) -> int:
    if isinstance(value, dict):
        return 1 + max(map(depth_of, value.values()), default=0)
    return 1 + max(map(depth_of, value), default=0) if isinstance(value, list) else 0


@pytest.mark.parametrize("depth", [0, 1, MAX_DEPTH])
@pytest.mark.parametrize("inner", ["1", '"["', "{}"])
def test_json_up_to_the_bound_is_decoded(depth: int, inner: str) -> None:
    """A text between brackets is no level, and an object is one."""
    outer = max(0, depth - (inner == "{}"))

    assert depth_of(decode(nested(outer, inner))) == outer + (inner == "{}")


@pytest.mark.parametrize(
    "text",
    [
        nested(MAX_DEPTH + 1),
        nested(1000),
        '{"a":' * (MAX_DEPTH + 1) + "1" + "}" * (MAX_DEPTH + 1),
        "[" + "[]," * 5000 + nested(MAX_DEPTH) + "]",
        nested(30_000),
    ],
    ids=["65", "1000", "objects", "wide", "30000"],
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


@given(
    st.recursive(
        st.just("1"),
        lambda inner: (
            st.lists(inner, max_size=3).map(lambda parts: f"[{','.join(parts)}]")
            | inner.map(lambda part: f'{{"a":{part}}}')
            | inner.map(lambda part: nested(30, part))
        ),
        max_leaves=20,
    )
)
def test_exactly_what_is_too_deep_is_refused(text: str) -> None:
    try:
        assert depth_of(decode(text)) <= MAX_DEPTH
    except JsonError:
        longest = depth = 0
        for character in text:
            depth += (character in "[{") - (character in "]}")
            longest = max(longest, depth)
        assert longest > MAX_DEPTH
