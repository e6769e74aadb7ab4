"""Names that apps give themselves: made readable, since nobody verifies them.

What cannot be seen is dropped, and so are symbols; marks are not stacked. The letters of every
script stay.
"""

from __future__ import annotations

import unicodedata

BLANK = frozenset(
    chr(code)
    for start, end in (
        *((0x034F, 0x034F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F)),
        *((0x2800, 0x2800), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFFA0, 0xFFA0)),
        *((0xFFFC, 0xFFFC), (0x1D159, 0x1D159), (0xE0000, 0xE0FFF)),
    )
    for code in range(start, end + 1)
)
"""Characters outside Unicode category C of which nothing is seen: Default_Ignorable_Code_Point
(UAX 44), fillers and the empty Braille pattern."""

SYMBOLS = frozenset("\N{SQUARE ROOT}" + "".join(map(chr, range(0x1F3FB, 0x1F400))))
"""Symbols outside Unicode category So: one that looks like a check mark, and the colours of skin,
which mean nothing without an emoji."""

MARKS = 4
"""Most combining marks in a row; Burmese and Tibetan use that many."""
STACKED = 2
"""The most marks that stack above or below a letter: a vowel's and a tone's."""


def clean(name: str) -> str:
    """A name as it can be shown: in one line, without what is invisible or reverses text."""
    spaced = "".join(" " if c.isspace() else c for c in unicodedata.normalize("NFC", name))
    seen = "".join(c for c in spaced if not _is_dropped(c))
    return " ".join(_unstacked(" ".join(seen.split())).split())


def _is_dropped(character: str) -> bool:
    """Whether nothing is seen of a character, or it is a symbol, such as a check mark."""
    if character in BLANK or unicodedata.category(character)[0] == "C":
        return True
    if character in SYMBOLS:
        return True
    braille = unicodedata.name(character, "").startswith("BRAILLE ")
    return unicodedata.category(character) == "So" and not braille


def _unstacked(text: str) -> str:
    """A text without marks that stand alone, and without those that are too many."""
    characters, marks, stacked = [" "], 0, 0
    for character in text:
        if unicodedata.category(character)[0] == "M":
            marks, stacked = marks + 1, stacked + bool(unicodedata.combining(character))
            if characters[-1] == " " or marks > MARKS or stacked > STACKED:
                continue
        else:
            marks = stacked = 0
        characters.append(character)
    return "".join(characters)
