"""Status: which night is served, how old it is, what it holds, and what it left out and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from store.nights.book import Book, PerBook
from store.wire.labels import FOUND, LEFT_OUT, words_of
from store.wire.words import short
from telemetry.version import VERSION
from web.access import Access
from web.night_head import NightPages
from web.pages import Context, Page
from web.site import Site
from web.visit import Visit

PATH = "/status"

NAMED = 50
"""Symbols and files that are named for one reason."""

LONGEST_NAME, LONGEST_REASON = 80, 300
"""Characters that are shown of each."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What one reason left out: all of it counted, and the first ones by name."""

    code: str
    words: str
    count: int
    named: Sequence[tuple[str, str]]
    """A symbol or a file, and the reason in full."""


@dataclass(frozen=True, slots=True)
class Findings:
    """What one rule found in the bars."""

    code: str
    words: str
    bars: int
    symbols: int


@dataclass(frozen=True, slots=True)
class Summary:
    """What the run that made a night reported, for people."""

    bars: int
    refused: Sequence[LeftOut]
    findings: Sequence[Findings]
    forming: int
    running: int
    dividend_adjusted: int
    assumed_dollars: int

    @classmethod
    def of(cls, report: Mapping[str, Any]) -> Summary:
        """The summary of a report, as `Book.report` has it."""
        refused = [
            LeftOut(code, words_of(code, LEFT_OUT), len(by_name), _named(by_name))
            for code, by_name in report.get("refused", {}).items()
        ]
        findings = [
            Findings(rule, words_of(rule, FOUND), bars, symbols)
            for rule, (bars, symbols) in report.get("findings", {}).items()
        ]
        return cls(
            bars=report.get("bars", 0),
            refused=sorted(refused, key=lambda one: -one.count),
            findings=sorted(findings, key=lambda one: -one.bars),
            forming=sum(report.get("forming", {}).values()),
            running=sum(report.get("running", {}).values()),
            dividend_adjusted=report.get("dividend_adjusted", 0),
            assumed_dollars=report.get("assumed_dollars", 0),
        )


def _named(by_name: Mapping[str, str]) -> list[tuple[str, str]]:
    first = sorted(by_name.items())[:NAMED]
    return [(short(name, LONGEST_NAME), short(reason, LONGEST_REASON)) for name, reason in first]


class StatusPage:
    """The page; names of symbols and files only for who may see the scan."""

    def __init__(self, site: Site, pages: NightPages) -> None:
        self._active_night = site.services.active_night
        self._access = Access(site)
        self._site = site
        self._news = site.news
        self._pages = pages
        self._offer = site.services.offer
        self._summary = PerBook(_summary)

    async def show(self, visit: Visit) -> Page:
        """The page."""
        names = self._access.scan(visit)
        progress = self._news.progress() if names else None
        with self._active_night.pin() as book:
            return self._pages.show(
                "status.html",
                visit,
                book,
                self._shown,
                nights=tuple(self._active_night.last_nights),
                names=names,
                progress=progress,
                degraded=tuple(self._site.degraded()),
            )

    def _shown(self, book: Book, **_now: object) -> Context:
        summary = self._summary.of(book)
        return {"book": book, "summary": summary, "program": VERSION, "offer": self._offer}


def _summary(book: Book) -> Summary | None:
    report = book.report()
    return Summary.of(report) if report else None
