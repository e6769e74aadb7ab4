"""Names that apps give themselves: made readable, since nobody verifies them.

What cannot be seen is dropped, and so are symbols; marks are not stacked. The letters of every
script stay.
"""

from __future__ import annotations

import re
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
"""Of these, most that stack above or below a letter: a vowel's mark and a tone's."""

ALPHABETS = frozenset(
    {
        *("LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU", "DESERET"),
        *("GOTHIC", "CARIAN", "LYCIAN", "LYDIAN"),
    }
)
"""Scripts with letters that look the same."""

PHONETIC = re.compile("[\u0250-\u02af\u1d00-\u1dbf\uab30-\uab6f\U0001df00-\U0001dfff]")
"""Blocks of letters for phonetics and dialectology, many of which look like common ones."""


def clean(name: str) -> str:
    """A name as it can be shown: in one line, without what is invisible or reverses text."""
    spaced = "".join(" " if c.isspace() else c for c in unicodedata.normalize("NFC", name))
    seen = "".join(c for c in spaced if not _is_dropped(c))
    return " ".join(_unstacked(" ".join(seen.split())).split())


def may_imitate(name: str) -> bool:
    """Whether a name, once clean, has letters that are probably there to look like others.

    They are of several alphabets in one word, phonetic, small capitals, or compatibility characters
    (UAX 15) of such an alphabet: full-width, mathematical and suchlike.
    """
    shown = clean(name)
    words = unicodedata.normalize("NFKC", shown).split()
    mixed = any(len({_alphabet(c) for c in word} & ALPHABETS) > 1 for word in words)
    return mixed or any(_is_odd(c) for c in shown)


def _is_dropped(character: str) -> bool:
    """Whether nothing is seen of a character, or it is a symbol, such as a check mark."""
    if character in BLANK or unicodedata.category(character)[0] == "C":
        return True
    if character in SYMBOLS:
        return True
    return unicodedata.category(character) == "So" and _alphabet(character) != "BRAILLE"


def _is_odd(character: str) -> bool:
    compatible = unicodedata.normalize("NFKC", character)
    if compatible != character and any(_alphabet(c) in ALPHABETS for c in compatible):
        return True
    if "SMALL CAPITAL" in unicodedata.name(character, ""):
        return True
    # The alphabets of Africa and Azerbaijan use some of these, with capitals in Latin Extended-B.
    return bool(PHONETIC.match(character)) and not "\u0180" <= character.upper() <= "\u024f"


def _alphabet(character: str) -> str:
    return unicodedata.name(character, "").partition(" ")[0]


def _unstacked(text: str) -> str:
    """A text without marks that stand alone, and without those that are too many."""
    kept, marks, stacked = [" "], 0, 0
    for character in text:
        if unicodedata.category(character)[0] == "M":
            marks, stacked = marks + 1, stacked + bool(unicodedata.combining(character))
            if kept[-1] == " " or marks > MARKS or stacked > STACKED:
                continue
        else:
            marks = stacked = 0
        kept.append(character)
    return "".join(kept)
