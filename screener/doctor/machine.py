"""Machine: its settings, the data folder and the night in it.

What a check raises of the settings or the store is told as a fault of its name.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterator
from contextlib import closing

from mcp_server.presentation.age import Age
from screener.data.night import open_book
from screener.doctor.result import CheckResult, fault, ok, warning
from screener.service.parts import is_on_the_internet
from screener.settings.setting_types import is_loopback
from screener.settings.settings import Settings
from store.errors import StoreError
from store.folder.files import check_data_folder
from store.folder.layout import DataFolder
from store.folder.lock import holder, restore_is_pending
from store.ledger.ledger import Ledger
from store.ledger.manifest import read_manifest, verify_book
from store.nights.book import Book
from store.wire.words import named, plural


def contradictions(chosen: Settings) -> Iterator[CheckResult]:
    """Settings that do not go together."""
    public, proxies = chosen.public_url, chosen.trusted_proxies
    scheme, _, rest = (public or "").partition(":")
    if scheme == "http" and is_on_the_internet(f"https:{rest}"):
        yield warning(
            "public address",
            f"SCREENER_PUBLIC_URL={public} sends keys and passwords in the clear; put a proxy with "
            "TLS in front and name it with https.",
        )
    if scheme == "https" and not proxies:
        yield warning(
            "proxies",
            "SCREENER_PUBLIC_URL is https, so a proxy stands in front, and all its callers share "
            "the limits of one address; name it in SCREENER_TRUSTED_PROXIES.",
        )
    if proxies and not public:
        yield warning(
            "proxies",
            f"SCREENER_TRUSTED_PROXIES is set and links name {chosen.url}; set SCREENER_PUBLIC_URL "
            "to the address that clients use.",
        )
    if "*" in proxies and not is_loopback(chosen.host):
        yield warning(
            "proxies",
            f"SCREENER_TRUSTED_PROXIES=* believes whoever reaches {chosen.host}:{chosen.port}; "
            "name the addresses of the proxies.",
        )
    if chosen.open_pages and public:
        yield warning(
            "open pages",
            f"SCREENER_OPEN_PAGES shows the scan to everybody who reaches {public}; unset it.",
        )


def data_folder(chosen: Settings) -> Iterator[CheckResult]:
    """Whether the folder exists and can be written, and whether a restore was killed in it."""
    path = chosen.data_dir.resolve()
    check_data_folder(path)
    writer = holder(chosen.data_dir)
    if not path.is_dir():
        makes = "`screener serve`" if chosen.nights_url else "`screener up` or `screener nightly`"
        words = f"{path} does not exist yet; {makes} makes it, or set SCREENER_DATA_DIR."
        yield warning("data folder", words)
    elif not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        yield fault(
            "data folder",
            f"{path} cannot be written by this user; let its owner run this, mount it writable, "
            "or set SCREENER_DATA_DIR.",
        )
    elif restore_is_pending(chosen.data_dir) and not writer:
        yield fault(
            "data folder",
            f"a restore into {path} was killed before it ended; run `screener restore` again, or "
            "start `screener serve`, which completes or undoes it.",
        )
    else:
        yield ok("data folder", f"{path}, {f'written by {writer}' if writer else 'at rest'}")


def ledger(chosen: Settings) -> Iterator[CheckResult]:
    """Whether the newest object of the ledger is what was written."""
    ledger = Ledger(chosen.data_dir)
    ledger.checked_newest()
    words = f"{plural(len(ledger.names()), 'object')}, the newest unchanged"
    yield ok("ledger", f"{words}; `screener ledger verify` checks all")


def night(chosen: Settings) -> Iterator[CheckResult]:
    """Whether the active night is what was sealed, and how old it is."""
    folder = DataFolder(chosen.data_dir)
    if not folder.manifest.exists():
        how = "`screener serve` fetches it" if chosen.nights_url else "run `screener nightly`"
        yield warning("night", f"there is none in {chosen.data_dir} yet; {how}.")
        return
    manifest = read_manifest(folder.manifest)
    path = verify_book(folder.nights, manifest)
    yield ok("night", f"{manifest.data_version}, unchanged since it was sealed")
    with closing(Book.open(path, manifest)) as book:
        age = Age.of(book, dt.datetime.now(dt.UTC).date())
    if age.missed and not age.sample:
        words = f"{age.words} Run `screener nightly`, and look at its timer."
        yield warning("age of the night", words)
    else:
        yield ok("age of the night", age.words)


def demo_symbols(chosen: Settings) -> Iterator[CheckResult]:
    """Whether the active night knows the symbols that anybody may read: all that were named, or
    one of the default.
    """
    try:
        book = open_book(chosen.data_dir)
    except StoreError:
        return  # told by the check of the night
    with closing(book):
        coverages = {symbol: book.coverage(symbol) for symbol in chosen.demo_symbols}
    missing = [symbol for symbol, known in coverages.items() if not (known and known.covered)]
    covered = [symbol for symbol in coverages if symbol not in missing]
    if missing and ("demo_symbols" in chosen.model_fields_set or not covered):
        words = f"the active night does not know {named(missing)}; correct SCREENER_DEMO_SYMBOLS."
        yield warning("demo symbols", words)
    else:
        yield ok("demo symbols", named(covered) or "none")
