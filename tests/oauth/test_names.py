"""Names that apps give themselves."""

from __future__ import annotations

import unicodedata

import pytest

from oauth.names import BLANK, clean


@pytest.mark.parametrize(
    "name",
    [
        *("Claude", "Ünïcode 名前", "العربية", "שָׁלוֹם", "नमस्ते दुनिया", "ที่นี่", "ကြော်"),
        *("བསྒྲུབས", "ភាសាខ្មែរ", "Tiếng Việt", "한국어", "IT-отдел & Söhne (2) + 1 €", "⠃⠗⠇"),
    ],
)
def test_a_name_in_any_script_stays_as_it_is(name: str) -> None:
    assert clean(unicodedata.normalize("NFC", name)) == unicodedata.normalize("NFC", name)


def test_nothing_invisible_is_left_of_a_name() -> None:
    some = {*range(0x20000), *range(0x20000, 0x110000, 101), *range(0xE0000, 0xE0FFF)}
    hidden = {chr(code) for code in some if unicodedata.category(chr(code))[0] == "C"}

    assert clean("a" + "".join(sorted(hidden | BLANK)) + "b").replace(" ", "") == "ab"
    for blank in BLANK:
        assert clean(blank * 3) == ""


@pytest.mark.parametrize("symbol", [*"✓✔✅☑🗸🗹√🛡🔒⭐®", "👍🏽", "✔️"])
def test_no_symbol_says_that_a_name_was_checked(symbol: str) -> None:
    assert clean(f"Claude {symbol} verified{symbol}") == "Claude verified"


@pytest.mark.parametrize("space", ["\n", "\t", "\u00a0", "\u3000", "\u2028", "  "])
def test_a_name_is_one_line_with_single_spaces(space: str) -> None:
    assert clean(f"{space}a{space}b{space}") == "a b"


@pytest.mark.parametrize("mark", ["\u0336", "\u0301", "\u0488", "\u0e47", "\u0f90"])
def test_marks_are_not_stacked(mark: str) -> None:
    stacked = clean("q" + mark * 60 + "x")

    assert stacked.startswith("q")
    assert stacked.endswith("x")
    assert stacked.count(mark) == (2 if unicodedata.combining(mark) else 4)


def test_a_mark_without_a_letter_is_dropped() -> None:
    assert clean("\u0301a \u0301b") == "a b"
