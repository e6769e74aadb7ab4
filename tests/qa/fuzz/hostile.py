"""Hostile values, and mutations of valid ones, as Hypothesis strategies."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

T = TypeVar("T")

RAW = {
    "@deep": "[" * 400 + "]" * 400,
    "@deeper": '{"a":' * 5_000 + "1" + "}" * 5_000,
    "@open": "[" * 10_000,
    "@digits": "9" * 20_000,
    "@fraction": "1." + "0" * 20_000 + "1",
    "@infinite": "1e999",
    "@nan": "NaN",
    "@twice": '{"a":1,"a":2}',
    "@surrogate": '"\\ud800"',
    "@nul": '"a\\u0000b"',
    "@int64": "9223372036854775808",
    "@negative": "-9223372036854775809",
}
"""JSON that `json.dumps` does not write, by the text that stands for it."""

TEXTS = (
    "",
    " ",
    "AAPL",
    " aapl ",
    "AAPL.",
    "BRK.B",
    "../../etc/passwd",
    "[/x]",
    "{{7*7}}",
    "<script>alert(1)</script>",
    "' OR 1=1 --",
    "%00",
    "%s%s%n",
    "a\r\nSet-Cookie: a=b",
    "\N{RIGHT-TO-LEFT OVERRIDE}abc",
    "\N{COMBINING LONG STROKE OVERLAY}" * 60,
    "\N{HANGUL FILLER}",
    "\U0001f4a3",
    "\ufeff",
    "1" * 20_000 + "x",
    "1e400",
    "-0",
    "0x10",
    "nan",
    "\N{ARABIC-INDIC DIGIT THREE}",
    "null",
    "triangle",
    "http://127.0.0.1:1/callback",
    "javascript:alert(1)",
    "A" * 60_000,
)

texts: SearchStrategy[str] = st.sampled_from(TEXTS) | st.text(max_size=40)
numbers: SearchStrategy[Any] = (
    st.integers() | st.floats() | st.sampled_from([0, -1, 2**31, 2**53, 2**63, 2**64, 10**400])
)
scalars: SearchStrategy[Any] = (
    st.none() | st.booleans() | numbers | texts | st.sampled_from(sorted(RAW))
)
values: SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=8,
)


@st.composite
def mostly(draw: st.DrawFn, usual: Sequence[T], odd: Sequence[T], one_in: int = 12) -> T:
    """One of the usual values, and now and then an odd one.

    Hypothesis tries all branches about equally often, so few calls would get beyond the door.
    """
    scrambled = zlib.crc32(b"%d" % draw(st.integers(0, 2**32)))
    return draw(st.sampled_from(odd if scrambled % one_in == 0 else usual))


def encoded(value: object) -> bytes:
    """A value as JSON, in which the names of `RAW` are replaced by what they stand for."""
    text = json.dumps(value)
    for name, raw in RAW.items():
        text = text.replace(f'"{name}"', raw)
    return text.encode()


@st.composite
def changed(draw: st.DrawFn, value: Any) -> Any:
    """A JSON value with one part replaced, left out or added."""
    if isinstance(value, dict) and value and draw(st.integers(0, 9)):
        name = draw(st.sampled_from(sorted(value)))
        return {**value, name: draw(changed(value[name]))}
    if isinstance(value, list) and value and draw(st.integers(0, 9)):
        place = draw(st.integers(0, len(value) - 1))
        return [*value[:place], draw(changed(value[place])), *value[place + 1 :]]
    if isinstance(value, dict):
        kept = draw(st.lists(st.sampled_from(sorted(value)), unique=True)) if value else []
        return {**{name: value[name] for name in kept}, draw(texts): draw(values)}
    if isinstance(value, list):
        return [*value, draw(values)] * draw(st.sampled_from([0, 1, 300]))
    return draw(values)


TOKENS = (
    *(b"\0", b"\xff", b"\xfe\xff", b"\r\n", b"\n", b"\r", b",", b";", b'"', b"'", b"\t", b" "),
    *(b"-", b"0", b"9" * 400, b"1e308", b"nan", b"inf", b"2024-02-30", b"9999-12-31", b"1.2.3,4"),
    *(b"{", b"[", b"}", b"null", b"\xef\xbb\xbf", b"PK\x03\x04", b"PAR1", b"\x1f\x8b", b"\x80"),
)


def _cut(data: bytearray, start: int, length: int, _token: bytes) -> None:
    del data[start : start + length]


def _repeat(data: bytearray, start: int, length: int, _token: bytes) -> None:
    data[start:start] = data[start : start + length] * 3


def _insert(data: bytearray, start: int, _length: int, token: bytes) -> None:
    data[start:start] = token


def _replace(data: bytearray, start: int, length: int, token: bytes) -> None:
    data[start : start + length] = token


def _flip(data: bytearray, start: int, length: int, _token: bytes) -> None:
    if data:
        data[start % len(data)] ^= 1 << length % 8


def _shorten(data: bytearray, start: int, _length: int, _token: bytes) -> None:
    del data[start:]


CHANGES: tuple[Callable[[bytearray, int, int, bytes], None], ...] = (
    *(_cut, _repeat, _insert, _replace, _flip, _flip, _shorten),
)


@st.composite
def damaged(draw: st.DrawFn, data: bytes) -> bytes:
    """Bytes after up to four changes: cut, repeated, inserted, replaced, flipped or shortened."""
    found = bytearray(data)
    for _ in range(draw(st.integers(1, 4))):
        change = draw(st.sampled_from(CHANGES))
        start = draw(st.integers(0, len(found)))
        token = draw(st.sampled_from(TOKENS) | st.binary(max_size=8))
        change(found, start, draw(st.integers(0, 64)), token)
    return bytes(found)


@st.composite
def recut(draw: st.DrawFn, data: bytes, ends: bytes = b"\n", cells: bytes = b",") -> bytes:
    """A table of text with one cell replaced, a row repeated or moved, or a column left out."""
    rows = [row.split(cells) for row in data.split(ends)]
    place = draw(st.integers(0, len(rows) - 1))
    column = draw(st.integers(0, len(rows[place]) - 1))
    kind = draw(st.sampled_from(["cell", "row", "move", "drop", "add"]))
    if kind == "cell":
        rows[place][column] = draw(st.sampled_from(TOKENS) | texts.map(_utf8))
    elif kind == "row":
        rows[place:place] = [rows[place]] * draw(st.sampled_from([1, 50]))
    elif kind == "move":
        rows.append(rows.pop(place))
    elif kind == "drop":
        rows = [row[:column] + row[column + 1 :] for row in rows]
    else:
        rows = [[*row, draw(st.sampled_from(TOKENS))] for row in rows]
    return ends.join(cells.join(row) for row in rows)


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
