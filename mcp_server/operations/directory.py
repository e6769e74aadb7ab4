"""The directory of a night: which of its symbols somebody means who writes a symbol or a name.

Symbols and the words of names are looked up in sorted lists, and compared with others by their
optimal string alignment distance (rapidfuzz), but only with those that begin alike. So a search
takes under a millisecond in thousands of symbols, and the event loop runs it directly. Making a
directory takes 6 ms for each thousand, once a night, in a thread before the night is served.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Final
from unicodedata import combining, normalize

import numpy as np
import numpy.typing as npt

from store.nights.book import Book, Entry, company_name, entries_of

Mask = npt.NDArray[np.bool_]
Scores = npt.NDArray[np.float32]

LIKE: Final = 0.75
"""The least similarity of what is alike: one edit in 4 letters, two in 8, none in 3."""

PAIR: Final = 6
"""A pair has so many letters at least. It must begin like another pair, up to its last four
letters: `ADAUSDT` is not `ATAUSDT` misspelt, it is another coin."""

VAGUE: Final = 8
"""If more symbols than this are equally near, a text says too little to suggest any of them."""

MOST_WORDS: Final = 8
"""Words of a text that are read."""

LONGEST: Final = 128
"""Characters of a text or a name that are read."""

_WORD: Final = re.compile(r"[^\W_]+")
_APOSTROPHES: Final = str.maketrans("", "", "'\N{RIGHT SINGLE QUOTATION MARK}")
_LAST: Final = "\U0010ffff"


class Directory:
    """The covered symbols of one night with their names, for looking up."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        """Take the entries of a universe; `name` may be missing or null."""
        self.entries: Sequence[Entry] = list(entries)
        """All entries, in the order of the universe."""
        # A shorter name says less beside the words that were asked for, so it goes first.
        self._entries = sorted(self.entries, key=_brevity)
        self._by_symbol = {entry["symbol"]: entry for entry in self.entries}
        self._lengths = np.array([len(entry["symbol"]) for entry in self._entries], np.int64)
        self._symbols = Index([_key(entry["symbol"])] for entry in self._entries)
        self._names = Index(_words(entry.get("name") or "") for entry in self._entries)
        self._trades = Index(_words(_trade(entry)) for entry in self._entries)

    @classmethod
    def of(cls, book: Book) -> Directory:
        """The directory of a night."""
        return cls(entries_of(book))

    def entry(self, symbol: str) -> Entry | None:
        """The entry of a covered symbol."""
        return self._by_symbol.get(symbol)

    def name(self, symbol: str) -> str:
        """The name of a covered symbol; empty if the reference table gives none."""
        return company_name(self.entry(symbol) or {})

    def search(self, text: str) -> list[Entry]:
        """The entries that a text may mean, the best match first.

        These are the symbol itself, the symbol with other separators, symbols that begin with the
        text, names with a word that begins with each word of it, and industries or sectors with
        such words. If none of these is there, the entries that are spelt alike.
        """
        key, words = _key(text), _words(text)[:MOST_WORDS]
        named = (self._having(words, index) for index in (self._names, self._trades))
        tiers = (self._same(text), self._beginning(key), *named)
        rows = dict.fromkeys(row for tier in tiers for row in tier)
        return [self._entries[row] for row in rows or self._alike(key, words)[0]]

    def nearest(self, symbol: str, count: int = 3) -> list[str]:
        """The symbols that an unknown one was probably meant to be, the nearest first; may be none.

        These are the symbol with other separators, or symbols and names that are spelt alike, or
        symbols that begin with it.
        """
        key, words = _key(symbol), _words(symbol)[:MOST_WORDS]
        rows = self._same(symbol)
        if not rows:
            rows, scores = self._alike(key, words)
            if scores.count(max(scores, default=0)) > VAGUE:
                return []
        if not rows and len(key) >= 3:
            rows = self._beginning(key)
        return [self._entries[row]["symbol"] for row in rows[:count]]

    def _same(self, text: str) -> list[int]:
        rows = np.flatnonzero(self._symbols.equal(_key(text))).tolist()
        return sorted(rows, key=lambda row: self._entries[row]["symbol"] != text.strip().upper())

    def _beginning(self, key: str) -> list[int]:
        rows = np.flatnonzero(self._symbols.beginning(key))
        return rows[np.argsort(self._lengths[rows], kind="stable")].tolist() if key else []

    def _having(self, words: Sequence[str], index: Index) -> list[int]:
        """The rows that have all words in an index or as symbol; then those with beginnings."""
        if not words:
            return []
        whole = _all(index.equal(word) | self._symbols.equal(word) for word in words)
        begun = _all(index.beginning(word) | self._symbols.equal(word) for word in words)
        return [*np.flatnonzero(whole).tolist(), *np.flatnonzero(begun & ~whole).tolist()]

    def _alike(self, key: str, words: Sequence[str]) -> tuple[list[int], list[float]]:
        """The rows whose symbol or name is spelt alike, the most similar first, and how similar."""
        begin = max(PAIR // 2, len(key) - 4) if len(key) >= PAIR else 1
        scores = self._symbols.likeness(key, begin)
        if words:
            each = np.array([self._names.likeness(word, 1) for word in words])
            scores = np.maximum(scores, np.where(each.all(axis=0), each.mean(axis=0), 0))
        order = np.argsort(-scores, kind="stable")[: np.count_nonzero(scores)]
        return order.tolist(), scores[order].tolist()


class Index:
    """Which rows have which words."""

    def __init__(self, rows: Iterable[Iterable[str]]) -> None:
        """Take the words of each row."""
        rows_of: dict[str, list[int]] = {}
        self._size = 0
        for row, words in enumerate(rows):
            self._size += 1
            for word in words:
                rows_of.setdefault(word, []).append(row)
        self._words = sorted(rows_of)
        # The rows of words that begin alike stand side by side.
        self._rows = np.array([row for word in self._words for row in rows_of[word]], np.int64)
        self._counts = np.array([len(rows_of[word]) for word in self._words], np.int64)
        self._starts = np.concatenate(([0], np.cumsum(self._counts)))

    def equal(self, word: str) -> Mask:
        """The rows that have a word."""
        first = bisect_left(self._words, word)
        return self._mask(first, first + (self._words[first : first + 1] == [word]))

    def beginning(self, word: str) -> Mask:
        """The rows that have a word that begins so."""
        return self._mask(*self._range(word))

    def likeness(self, word: str, begin: int) -> Scores:
        """For each row, the similarity of its most similar word that has the same first letters, so
        many of them as `begin` says; 0 if none is at least `LIKE`.
        """
        first, last = self._range(word[:begin])
        scores = np.zeros(self._size, np.float32)
        if word and first < last:
            # 3 MB, for what is misspelt alone
            from rapidfuzz.distance import OSA
            from rapidfuzz.process import cdist

            words, scorer = self._words[first:last], OSA.normalized_similarity
            found = cdist([word], words, scorer=scorer, score_cutoff=LIKE)
            rows = self._rows[self._starts[first] : self._starts[last]]
            np.maximum.at(scores, rows, np.repeat(found[0], self._counts[first:last]))
        return scores

    def _range(self, begin: str) -> tuple[int, int]:
        return bisect_left(self._words, begin), bisect_left(self._words, begin + _LAST)

    def _mask(self, first: int, last: int) -> Mask:
        mask = np.zeros(self._size, np.bool_)
        mask[self._rows[self._starts[first] : self._starts[last]]] = True
        return mask


def _brevity(entry: Entry) -> tuple[int, int, str]:
    return len(entry.get("name") or ""), len(entry["symbol"]), entry["symbol"]


def _trade(entry: Entry) -> str:
    return f"{entry.get('industry') or ''} {entry.get('sector') or ''}"


def _all(masks: Iterable[Mask]) -> Mask:
    return reduce(np.logical_and, masks)


def _words(text: str) -> list[str]:
    """The different words of a text."""
    return list(dict.fromkeys(_parts(text)))


def _key(symbol: str) -> str:
    """The letters and digits of a symbol, without its exchange: of `NASDAQ:BRK-B`, `brkb`."""
    return "".join(_parts(symbol.rpartition(":")[2]))


def _parts(text: str) -> list[str]:
    """The words of a text in their order, without case, accents and apostrophes."""
    letters = normalize("NFKD", text[:LONGEST]).casefold()
    plain = letters if letters.isascii() else "".join(c for c in letters if not combining(c))
    return _WORD.findall(plain.translate(_APOSTROPHES))
