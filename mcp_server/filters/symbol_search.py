"""Symbol search: which of its symbols somebody means who writes a symbol or a name.

Symbols and the words of names are looked up in sorted lists, and compared with others by their
optimal string alignment distance (rapidfuzz), but only with those that begin alike. So a search
takes some 0.05 ms, and at most a millisecond for each thousand symbols that match; the event loop
runs it directly. Making a directory takes 8 ms for each thousand, once a night, in a thread before
the night is served.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from string import ascii_lowercase
from typing import Final
from unicodedata import combining, normalize

from store.nights.book import Book, Entry, company_name, entries_of

Rows = set[int]
"""Entries by their places in the order of answers."""

LIKE: Final = 0.75
"""The least similarity of what is alike: one edit in 4 letters, two in 8, none in 3."""

PAIR: Final = 6
"""A pair has so many letters at least. It must begin like another pair, up to its last four
letters: `ADAUSDT` is not `ATAUSDT` misspelt, it is another coin."""

SLIPPED: Final = 4
"""A symbol that may be mistyped has so many letters at least, and fewer than a pair."""

TELLING: Final = 5
"""A word of a name that may be misspelt has so many letters at least."""

SHORTENED: Final = 4
"""A word that stands for a longer one has so many letters at least."""

VAGUE: Final = 8
"""If more symbols than this are equally near, a text says too little to suggest any of them."""

MAX_WORDS: Final = 8
"""Words of a text that are read."""

MAX_QUERY: Final = 128
"""Characters of a text or a name that are read."""

LOOKED_UP: Final = 20
"""Most symbols of one call whose nearest known ones are looked up."""

QUOTED: Final = r"(USD[CT]?|[BFT]?USD|EUR|GBP|BTC)(\.\w+)?"
"""What a pair of a coin has behind it: its currency, and what kind of contract it is."""

_BEHIND: Final = re.compile(rf"[._-].+|{QUOTED}")
_WORD: Final = re.compile(r"[^\W_]+")
_APOSTROPHES: Final = str.maketrans("", "", "'\N{RIGHT SINGLE QUOTATION MARK}")
_LAST: Final = "\U0010ffff"


class SymbolSearch:
    """The covered symbols of one night with their names, for looking up."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        """Take the entries of a universe; `name` may be missing or null."""
        self.entries: Sequence[Entry] = list(entries)
        """All entries, in the order of the universe."""
        self.has_exchanges = any(entry.get("exchange") for entry in self.entries)
        """Whether the exchange of any symbol is known."""
        # A shorter name says less beside the words that were asked for, so it goes first.
        self._entries = sorted(self.entries, key=_brevity)
        self._lengths = [len(entry["symbol"]) for entry in self._entries]
        self._by_symbol = {entry["symbol"]: entry for entry in self.entries}
        self._symbols = Index([_key(entry["symbol"])] for entry in self._entries)
        names = [_words(entry.get("name") or "") for entry in self._entries]
        self._names = Index(names)
        self._joined = Index(["".join(words)] for words in names)
        self._texts = Index(_words(_text(entry)) for entry in self._entries)
        self._types = Index([entry.get("asset_type") or ""] for entry in self._entries)

    @classmethod
    def of(cls, book: Book) -> SymbolSearch:
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
        text, names with a word that begins with each word of it, and names, industries and sectors
        with such words. A word may also be the symbol or the type of asset. If none of these is
        there, names that begin with the text but for its spaces (`JP Morgan` for `jpmorgan`), else
        entries that are spelt alike, and last those that shorten words of the text.
        """
        key, words = _key(text), _words(text)[:MAX_WORDS]
        named = (self._having(words, each) for each in (self._names, self._texts))
        tiers = (self._same(text), self._beginning(key), *named)
        rows = dict.fromkeys(row for tier in tiers for row in tier)
        rows = rows or dict.fromkeys(self._run_together(words))
        rows = rows or dict.fromkeys([*self._alike(key, words)[0], *self._shortening(words)])
        return [self._entries[row] for row in rows]

    def nearest(self, symbol: str, count: int = 3) -> list[str]:
        """The symbols that an unknown one was probably meant to be, the nearest first; may be none.

        These are the symbol with other separators, or pairs and names that are spelt alike, or the
        one symbol from which a slip of the finger leads to it, or what it begins: a class of its
        shares, a pair of its coin.
        """
        key, words = _key(symbol), _words(symbol)[:MAX_WORDS]
        rows = self._same(symbol)
        if not rows:
            long = [word for word in words if len(word) >= TELLING]
            rows, scores = self._alike(key if len(key) >= PAIR else "", long)
            if scores.count(max(scores, default=0)) > VAGUE:
                return []
        rows = rows or self._slipped(key) or self._begun(key)
        return [self._entries[row]["symbol"] for row in rows[:count]]

    def _same(self, text: str) -> list[int]:
        rows = sorted(self._symbols.equal(_key(text)))
        return sorted(rows, key=lambda row: self._entries[row]["symbol"] != text.strip().upper())

    def _slipped(self, key: str) -> list[int]:
        """The row of the one symbol from which a slip leads to a text; none if there are several.

        A letter in place of another is no slip: in a market of 1,856 symbols every second one of
        four letters has such a neighbour, another company's (`AMGN` for `AMZN`), but one in 25 has
        one by slips. With three letters or fewer nearly all texts are symbols.
        """
        if not SLIPPED <= len(key) < PAIR:
            return []
        slips = (slip for slip in _slips(key) if len(slip) >= SLIPPED)
        rows = set[int]().union(*map(self._symbols.equal, slips))
        return [*rows] if len(rows) == 1 else []

    def _begun(self, key: str) -> list[int]:
        """The rows whose symbol is a text with a separator or, of a coin, a currency behind it."""
        rows = self._beginning(key) if len(key) >= 3 else []
        return [row for row in rows if _BEHIND.fullmatch(self._entries[row]["symbol"][len(key) :])]

    def _beginning(self, key: str) -> list[int]:
        rows = sorted(self._symbols.beginning(key)) if key else []
        return sorted(rows, key=self._lengths.__getitem__)

    def _having(self, words: Sequence[str], index: Index) -> list[int]:
        """The rows that have all words in an index or named; then those with beginnings."""
        if not words:
            return []
        whole = set.intersection(*(index.equal(word) | self._named(word) for word in words))
        begun = set.intersection(*(index.beginning(word) | self._named(word) for word in words))
        return [*sorted(whole), *sorted(begun - whole)]

    def _named(self, word: str) -> Rows:
        """The rows of which a word is the symbol or the type, which no beginning of it is."""
        return self._symbols.equal(word) | self._types.equal(word)

    def _run_together(self, words: Sequence[str]) -> list[int]:
        """The rows whose name begins with the letters of some words, wherever its spaces are."""
        letters = "".join(words)
        return sorted(self._joined.beginning(letters)) if len(letters) >= TELLING else []

    def _shortening(self, words: Sequence[str]) -> list[int]:
        """The rows that have each word, or its beginning as a word: `Treas` for `treasury`."""
        texts = self._texts
        each = [texts.equal(one) | texts.shortening(one) | self._named(one) for one in words]
        return sorted(set.intersection(*each)) if each else []

    def _alike(self, key: str, words: Sequence[str]) -> tuple[list[int], list[float]]:
        """The rows whose symbol or name is spelt alike, the most similar first, and how similar."""
        begin = max(PAIR // 2, len(key) - 4) if len(key) >= PAIR else 1
        scores = self._symbols.likeness(key, begin)
        each = [self._names.likeness(word, 1) for word in words]
        for row in set.intersection(*map(set, each)) if each else ():
            mean = sum(likeness[row] for likeness in each) / len(each)
            if mean > scores.get(row, 0):
                scores[row] = mean
        rows = sorted(sorted(scores), key=scores.__getitem__, reverse=True)
        return rows, [scores[row] for row in rows]


class Index:
    """Which rows have which words."""

    def __init__(self, rows: Iterable[Iterable[str]]) -> None:
        """Take the words of each row."""
        self._rows: dict[str, list[int]] = {}
        for row, words in enumerate(rows):
            for word in words:
                self._rows.setdefault(word, []).append(row)
        self._words = sorted(self._rows)

    def equal(self, word: str) -> Rows:
        """The rows that have a word."""
        return set(self._rows.get(word, ()))

    def beginning(self, begin: str) -> Rows:
        """The rows that have a word that begins so."""
        return set().union(*(self._rows[word] for word in self._range(begin)))

    def shortening(self, word: str) -> Rows:
        """The rows that have the first letters of a word as a word, at least `SHORTENED`."""
        begins = (word[:size] for size in range(SHORTENED, len(word)))
        return set().union(*map(self.equal, begins))

    def likeness(self, word: str, begin: int) -> dict[int, float]:
        """For each row, the similarity of its most similar word that has the same first letters, so
        many of them as `begin` says; without those of which none is at least `LIKE`.
        """
        # 3 MB, for what is misspelt alone
        from rapidfuzz.distance import OSA
        from rapidfuzz.process import extract

        near = self._range(word[:begin]) if word else []
        scorer, scores = OSA.normalized_similarity, dict[int, float]()
        for other, score, _ in extract(word, near, scorer=scorer, score_cutoff=LIKE, limit=None):
            for row in self._rows[other]:
                scores.setdefault(row, score)  # the most similar word comes first
        return scores

    def _range(self, begin: str) -> list[str]:
        """The words that begin so."""
        first, last = bisect_left(self._words, begin), bisect_left(self._words, begin + _LAST)
        return self._words[first:last]


def _slips(key: str) -> set[str]:
    """The keys that a slip makes this one: two neighbours swapped, a letter left out or too many,
    the wrong one doubled (`appl` for `aapl`).
    """
    cuts = [(key[:n], key[n:]) for n in range(len(key) + 1)]
    swapped = {begin + end[1] + end[0] + end[2:] for begin, end in cuts if len(end) > 1}
    shorter = {begin + end[1:] for begin, end in cuts if end}
    longer = {begin + letter + end for begin, end in cuts for letter in ascii_lowercase}
    single = {begin + end[1:] for begin, end in cuts if end and begin.endswith(end[0])}
    doubled = {one[: n + 1] + one[n:] for one in single for n in range(len(one))}
    return swapped | shorter | longer | doubled


async def nearest_of(directory: SymbolSearch, wrong: Sequence[str]) -> dict[str, list[str]]:
    """The known symbols that are nearest to each of some others, of the first `LOOKED_UP`."""
    from anyio.lowlevel import checkpoint  # which commands do without

    nearest = {}
    for symbol in wrong[:LOOKED_UP]:
        if known := directory.nearest(symbol):
            nearest[symbol] = known
        await checkpoint()  # a look-up may take some milliseconds: others go on in between
    return nearest


def _brevity(entry: Entry) -> tuple[int, int, str]:
    return len(entry.get("name") or ""), len(entry["symbol"]), entry["symbol"]


def _text(entry: Entry) -> str:
    return " ".join(entry.get(part) or "" for part in ("name", "industry", "sector"))


def _words(text: str) -> list[str]:
    """The different words of a text, without `and`, which others write as a sign."""
    return [word for word in dict.fromkeys(_parts(text)) if word != "and"]


def _key(symbol: str) -> str:
    """The letters and digits of a symbol, without its exchange: of `NASDAQ:BRK-B`, `brkb`."""
    return "".join(_parts(symbol.rpartition(":")[2]))


def _parts(text: str) -> list[str]:
    """The words of a text in their order, without case, accents and apostrophes."""
    letters = normalize("NFKD", text[:MAX_QUERY]).casefold()
    plain = letters if letters.isascii() else "".join(c for c in letters if not combining(c))
    return _WORD.findall(plain.translate(_APOSTROPHES))
