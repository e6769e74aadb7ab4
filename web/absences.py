"""Absences: why symbols are not covered by a night."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from store.nights.book import Book, Coverage
from store.wire.labels import LEFT_OUT, words_of


@dataclass(frozen=True, slots=True)
class Absences:
    """What the report of a night says of the symbols that it left out."""

    refused: Mapping[str, Mapping[str, str]]
    """By code and symbol, the reason as a sentence."""

    @classmethod
    def of(cls, book: Book) -> Absences:
        """The absences of a night; none are known of one without a report."""
        return cls((book.report() or {}).get("refused", {}))

    def words(self, coverage: Coverage) -> str | None:
        """Why a symbol is not covered, as a sentence; None for a covered symbol."""
        if coverage.covered:
            return None
        code = coverage.reason or "not_covered"
        told = self.refused.get(code, {}).get(coverage.symbol)
        return told or f"{words_of(code, LEFT_OUT).capitalize()}."
