"""Messages: what people are told of a night, in a few lines of plain text.

Every number is of the sealed night, whose session is named. No rate is told, so that none stands
without its sample and losses.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from store.wire.currency import money
from store.wire.families import Family
from store.wire.labels import CHANGE_KINDS
from store.wire.words import (
    NEW_DETECTOR,
    changed_words,
    harmless,
    named,
    place_words,
    plan_words,
    quality_words,
    setup_words,
    short,
    tenths,
    why_words,
)

if TYPE_CHECKING:
    from mcp_server.operations.screen_changes import ScreenChanges
    from store.ledger.manifest import Manifest
    from store.nights.book import Book
    from store.wire.view import SetupView

MAX_CHANGES: Final = 8
"""Changes that are listed one by one; the others are counted."""

MAX_SYMBOLS: Final = 20
"""Symbols named in one line; the others are counted."""

MAX_REASON: Final = 600

REPEAT_SECONDS: Final = 20 * 3600.0
"""After which the same failure is sent again: each day of a schedule, but not each attempt."""


@dataclass(frozen=True, slots=True)
class Message:
    """What is sent: `title` says what happened, `lines` say more."""

    kind: Literal["info", "success", "warning", "failure"]
    title: str
    lines: Sequence[str]
    about: str = ""
    """What happened, the same for what need not be sent twice; empty for what always is."""
    repeat_seconds: float = math.inf
    """After which it is sent again nonetheless."""

    @property
    def body(self) -> str:
        """The lines as one text."""
        return "\n".join(map(harmless, self.lines))


def published(
    url: str,
    manifest: Manifest,
    book: Book,
    followed: Sequence[str],
    drifted: Sequence[str] = (),
    before: Manifest | None = None,
    screens: Sequence[str] = (),
) -> Message:
    """A night is published. `followed` are the symbols whose changes are listed, `drifted` those
    whose stored walk was another; `before` is the night that was served until now, and `screens`
    what `screen` says of some.
    """
    counts = manifest.counts
    warnings = [*_earlier(manifest, before), *([drift(drifted)] if drifted else [])]
    return Message(
        "warning" if warnings else "success",
        f"Published: the night of {manifest.as_of_session}",
        [
            *warnings,
            f"Symbols covered: {counts.covered:,}; setups: {counts.setups:,}; resolved trades in "
            f"all: {counts.resolved:,}.",
            *_changes(url, book, followed),
            *screens,
            *_not_covered(book, followed),
            *_links(url),
            manifest.disclaimer,
        ],
        about=f"published {manifest.data_version} {', '.join(drifted)}",
    )


def not_published(
    url: str, reason: str, code: int, active: Manifest | None, *, held_back: bool
) -> Message:
    """A night was made and held back, or could not be made; `active` is served now."""
    title = "Held back: a night" if held_back else "The nightly failed"
    reason = short(reason, MAX_REASON)
    return Message(
        "warning" if held_back else "failure",
        title,
        [reason, f"The exit code is {code}.", _served(active), *_links(url)],
        # Numbers of a process or the time may differ with each attempt.
        about=f"{title} {code} {re.sub(r'[0-9]+', '#', reason)}",
        repeat_seconds=REPEAT_SECONDS,
    )


def withdrawn(url: str, night: Manifest, reason: str, active: Manifest | None) -> Message:
    """A night was taken back; `active` is the one that is served now."""
    return Message(
        "warning",
        f"Withdrawn: the night of {night.as_of_session}",
        [
            f"Night {night.data_version} is withdrawn for good. Use none of its numbers.",
            f"The reason: {short(reason, MAX_REASON)}",
            _served(active),
            *_links(url),
        ],
    )


def trial(url: str) -> Message:
    """The words of a test."""
    return Message(
        "info",
        "A test of the pattern screener",
        ["A message comes here when a night is published, held back, fails or is withdrawn.", url],
    )


def of_operator(url: str, text: str) -> Message:
    """A text of the operator's own."""
    return Message("info", short(text, MAX_REASON), [*_links(url)])


def drift(symbols: Sequence[str]) -> str:
    """What is wrong with stored walks that differ from what their bars give."""
    return (
        f"Drift in {len(symbols):,} of the stored walks ({named(symbols)}): their bars give other "
        "walks. The night is made of the right walks; look for a changed machine or library."
    )


def _served(active: Manifest | None) -> str:
    if active is None:
        return "No night is served."
    return f"The night of {active.as_of_session} is served."


def _earlier(manifest: Manifest, before: Manifest | None) -> Iterator[str]:
    if before and not before.sample and manifest.as_of_session < before.as_of_session:
        yield (
            f"Its session is earlier than that of the night served before, {before.as_of_session}. "
            "Check whether the bars are complete."
        )


def _links(url: str) -> Iterator[str]:
    yield f"Setups: {url}/screen"
    yield f"State: {url}/status"


def _changes(url: str, book: Book, followed: Sequence[str]) -> Iterator[str]:
    record = book.changes()
    if record is None:
        yield "It was not compared with an earlier night, so no change is known."
        return
    since, changes = record["since_session"], record["changes"]
    counts = "; ".join(_counted(changes))
    yield f"Since the night of {since}, {changed_words(changes)}: {counts}."
    if record.get("detector_changed"):
        yield NEW_DETECTOR
    mine = [change for change in changes if change["symbol"] in followed]
    for change in mine[:MAX_CHANGES]:
        yield _change(url, change, _served_as(book, change))
    if len(mine) > MAX_CHANGES:
        yield f"And {len(mine) - MAX_CHANGES:,} more changes of your symbols: {url}/changes"
    if followed and not mine:
        yield "None of your symbols changed."


def _counted(changes: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """How many setups changed in each way, with their symbols: `2 triggered (DE, DYN)`."""
    for kind, words in CHANGE_KINDS.items():
        symbols = [change["symbol"] for change in changes if change["change"] == kind]
        names = f" ({named(list(dict.fromkeys(symbols)), MAX_SYMBOLS)})" if symbols else ""
        yield f"{len(symbols):,} {words.lower()}{names}"


def screen(url: str, link: str, changes: ScreenChanges) -> Iterator[str]:
    """What entered a screen, triggered in it and left it, with the levels of each setup."""
    if not changes.since:
        yield f"What entered and left {link} is not known: there is no night before it here."
        return
    if changes.detector_changed:
        yield f"What entered and left {link} is not told: the detector changed."
        return
    kinds = (("Entered", changes.entered), ("Triggered in", changes.triggered))
    for kind, views in (kind for kind in kinds if kind[1] or kind[0] == "Entered"):
        yield f"{kind} {link}: {_count(views)}."
        yield from (f"{setup_words(view)}{_levels(url, view)}" for view in views[:MAX_CHANGES])
        yield from _rest(views)
    gone = changes.left
    yield f"Left {link}: {_count(gone)}."
    yield from (f"{one.view.symbol}: {one.reason}." for one in gone[:MAX_CHANGES])
    yield from _rest([one.view for one in gone])


def _count(found: Sequence[object]) -> str:
    return f"{len(found):,}" if found else "nothing"


def _rest(views: Sequence[SetupView]) -> Iterator[str]:
    """The symbols of those that are not told one by one."""
    if len(views) > MAX_CHANGES:
        rest = [view.symbol for view in views[MAX_CHANGES:]]
        yield f"And {len(rest):,} more: {named(rest, MAX_SYMBOLS)}."


def _levels(url: str, view: SetupView) -> str:
    """Where a setup stands, its levels and its page, as the end of a line."""
    facts = filter(None, (place_words(view), plan_words(view), quality_words(view)))
    return f"; {'; '.join(facts)}. {url}/symbols/{view.symbol}"


def _served_as(book: Book, change: Mapping[str, Any]) -> SetupView | None:
    """The setup that the night serves of a change, if it serves one."""
    found = book.scan.formations.get(change["lineage_id"], ())
    return next((one for one in found if (one.attempt or 1) == change["attempt"]), None)


def _change(url: str, change: Mapping[str, Any], view: SetupView | None) -> str:
    family = Family(change["family"]).label
    day = f" on {change['session']}" if change["session"] else ""
    price, currency = change["price"], change.get("currency") or "USD"
    at = "" if price is None else f" at {money(price, currency)}"
    r = "" if change["r_multiple"] is None else f", {change['r_multiple']:+.2f} R"
    quality = change.get("quality_pct")
    drawn = "" if quality is None or view else f", quality {tenths(quality)}"
    words, why = CHANGE_KINDS[change["change"]].lower(), why_words(change)
    symbol = change["symbol"]
    head = (
        f"{symbol}, {family}, {change['direction']}, attempt {change['attempt']}: {words}{day}"
        f"{at}{r}{drawn} ({why})"
    )
    return head + (_levels(url, view) if view else f". {url}/symbols/{symbol}")


def _not_covered(book: Book, followed: Sequence[str]) -> Iterator[str]:
    coverages = {symbol: book.coverage(symbol) for symbol in followed}
    absent = [
        symbol for symbol, coverage in coverages.items() if not (coverage and coverage.covered)
    ]
    if absent:
        yield f"Not covered by this night: {named(absent, MAX_SYMBOLS)}."
