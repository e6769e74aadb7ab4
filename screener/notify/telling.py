"""Telling: how a run of the nightly ended is told to the addresses of `SCREENER_NOTIFY`.

Nothing here changes how a run ends: it is told after its locks are released, in a bounded time, and
what goes wrong with it is one line on stderr.
"""

from __future__ import annotations

import contextlib
import datetime as dt
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from nightly.errors import NightlyError
from screener.notify import news
from screener.notify.news import News
from screener.notify.notifier import Notifier, Outcome
from screener.service.recording import FAULT, without_folders
from screener.settings.console import err, exit_code
from screener.settings.errors import EndedError, SettingsError
from screener.settings.settings import Settings
from store.errors import HeldBackError, SealedError, StoreError
from store.folder.told import ToldFile
from store.folder.trouble import trouble_of
from store.ledger.manifest import Manifest, known_book
from store.nights.book import Book
from store.nights.nights import Nights

if TYPE_CHECKING:
    from nightly.report import Report

CRASH = 1
"""The exit code of a run that ended with a traceback."""


class Ending:
    """What is known of a run until it ends."""

    def __init__(self) -> None:
        self.before: Manifest | None = None
        self.manifest: Manifest | None = None
        self.drifted: Sequence[str] = ()

    def publish(self, manifest: Manifest, report: Report) -> None:
        """Note the night that was published."""
        self.manifest, self.drifted = manifest, report.drifted


@contextmanager
def told(
    settings: Settings, bars: str, reference: Path | None = None, *, dry_run: bool = False
) -> Iterator[Ending]:
    """Tell how the run within the block ended; a dry run is not told, and neither is one that found
    nothing new or that somebody stopped.

    Raises:
        SettingsError: an address cannot be used; then the block is not entered.
    """
    ending, fault = Ending(), None
    if not dry_run:
        Notifier(settings.notify).check()
        ending.before = served(settings) if settings.notify else None
    try:
        yield ending
    except BaseException as error:
        fault = error
        raise
    finally:
        if not dry_run:
            tell(settings, lambda: _news(settings, ending, fault, bars, reference))


def tell(settings: Settings, what: Callable[[], News | None]) -> None:
    """Tell news, unless there are none or they were told last; never raises an error."""
    if not settings.notify:
        return
    try:
        line = _tell(settings, what())
    except Exception as error:  # whatever fails here, the night does not
        line = f"No message about the night was sent ({type(error).__name__})."
    if line:
        with contextlib.suppress(OSError, EndedError):
            err.print(line)


def _tell(settings: Settings, found: News | None) -> str | None:
    """Tell it; a line that says who was not told."""
    record, now = ToldFile(settings.data_dir), dt.datetime.now(dt.UTC)
    if found is None or (found.about and record.knows(found.about, now, found.anew)):
        return None
    outcomes = Notifier(settings.notify).send(found)
    missed = [outcome for outcome in outcomes if outcome.state != "sent"]
    if found.about and len(missed) < len(outcomes):
        record.note(found.about, now)
    return not_told(missed)


def not_told(missed: Sequence[Outcome]) -> str | None:
    """A line that says which addresses were not told, without them."""
    return f"Not told: {'; '.join(outcome.words for outcome in missed)}." if missed else None


def of_night(
    settings: Settings,
    manifest: Manifest,
    drifted: Sequence[str] = (),
    before: Manifest | None = None,
) -> News:
    """The news of a published night; `before` is the one that was served until then.

    Raises:
        ManifestError, BookError: the night is not what was sealed.
    """
    path = known_book(Nights(settings.data_dir).folder, manifest)
    with closing(Book.open(path, manifest)) as book:
        said = news.drift(drifted) if drifted else ""
        symbols = settings.notify_symbols
        return news.published(settings.url, manifest, book, symbols, said, before)


def _news(
    settings: Settings,
    ending: Ending,
    fault: BaseException | None,
    bars: str,
    reference: Path | None,
) -> News | None:
    if ending.manifest:
        return of_night(settings, ending.manifest, ending.drifted, ending.before)
    if isinstance(fault, SealedError | EndedError) or not isinstance(fault, Exception):
        return None  # nothing new, or somebody stopped it
    if isinstance(fault, NightlyError | StoreError | SettingsError):
        code = exit_code(fault)
        reason = without_folders(str(fault), settings, bars, reference)
    elif trouble := trouble_of(fault):
        code, reason = exit_code(fault), without_folders(trouble, settings, bars, reference)
    else:
        code, reason = CRASH, f"{FAULT} ({type(fault).__name__})"
    words = news.held_back if isinstance(fault, HeldBackError) else news.failed
    return words(settings.url, reason, code, served(settings))


def served(settings: Settings) -> Manifest | None:
    """The night that is served now, if it can be read."""
    try:
        return Nights(settings.data_dir).active()
    except StoreError:
        return None
