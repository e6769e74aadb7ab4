"""Send: messages go to the addresses of `SCREENER_NOTIFY` through Apprise's own command.

An address holds passwords and tokens: it is named by its place in the setting, goes to its command
in the environment, and what the command writes goes nowhere. Nothing here changes how a run of the
nightly ends: messages are sent after its locks are released, and what goes wrong is one line.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mcp_server.operations.screens import address_of, query_of, read_link
from screener.data.night import open_book
from screener.nightly.errors import NightlyError
from screener.notify import messages
from screener.notify.messages import Message
from screener.service.recording import FAULT, without_folders
from screener.service.sharing import served
from screener.settings.console import err, exit_code
from screener.settings.errors import EndedError, SettingsError, how_to_install
from screener.settings.settings import PREFIX, Settings
from store.errors import HeldBackError, SealedError, StoreError
from store.folder.files import replace_file
from store.folder.layout import DataFolder
from store.folder.trouble import trouble_of
from store.ledger.manifest import Manifest
from store.nights.book import Book

if TYPE_CHECKING:
    from screener.nightly.report import Report

SECONDS: Final = 30.0
"""For which the command of one address may take, with its start."""

CHECK_SECONDS: Final = 120.0
"""For which it may take to look at an address, which asks nobody."""

AT_ONCE: Final = 8
"""Commands that run at once."""

MAX_KILOBYTES: Final = 1024 * 1024
"""Memory of a command, in KB: a service may respond without end."""

APPRISE: Final = (
    *("/bin/sh", "-c", f'ulimit -d {MAX_KILOBYTES}; exec "$0" "$@"'),
    *(sys.executable, "-P", "-c", "from apprise.cli import main; main()"),
    *("--storage-mode", "memory"),
)

SENT: Final = "sent"

CRASH: Final = 1
"""The exit code of a run that ended with a traceback."""


def check(addresses: Sequence[str]) -> None:
    """Look whether the addresses can be used; nothing is sent.

    Raises:
        SettingsError: Apprise is not installed, or it cannot use an address.
    """
    if addresses and find_spec("apprise") is None:
        raise SettingsError(
            "SCREENER_NOTIFY needs Apprise, which is not installed; "
            f"{how_to_install('apprise')}, or unset it."
        )
    codes = _exit_codes(addresses, ["--dry-run"], "", CHECK_SECONDS)
    bad = [str(place) for place, code in enumerate(codes, 1) if code]
    if bad:
        which = f"address {bad[0]}" if len(bad) == 1 else f"addresses {', '.join(bad)}"
        raise SettingsError(
            f"SCREENER_NOTIFY: Apprise cannot use {which} of {len(addresses)}; see "
            "https://appriseit.com/services/ for their form."
        )


def check_screens(links: Sequence[str]) -> None:
    """Look whether the screens can be run.

    Raises:
        SettingsError: one cannot, or a link is to something else.
    """
    for place, link in enumerate(links, 1):
        if query_of(read_link(link)) is None:
            raise SettingsError(
                f"SCREENER_NOTIFY_SCREENS: link {place} of {len(links)} leads to no screen that "
                "can be run; open the screen, and copy its link anew when it shows setups."
            )


def send(addresses: Sequence[str], message: Message, seconds: float = SECONDS) -> list[str]:
    """Send a message; a line for each address, named by its place, that says what became of it.

    Raises:
        OSError: Apprise cannot be started.
    """
    options = [f"--title={message.title}", f"--notification-type={message.kind}"]
    codes = _exit_codes(addresses, options, message.body, seconds)
    words = {0: SENT, None: "no answer in time"}
    return [
        f"address {place}: {words.get(code, 'refused or unreachable')}"
        for place, code in enumerate(codes, 1)
    ]


def _exit_codes(
    addresses: Sequence[str], options: Sequence[str], body: str, seconds: float
) -> list[int | None]:
    """The exit code of Apprise for each address; None of one that was ended since it hung."""

    # No process has the address of another, or of the database.
    plain = {name: text for name, text in os.environ.items() if not name.upper().startswith(PREFIX)}

    def run(address: str) -> int | None:
        try:
            return subprocess.run(  # noqa: S603 - fixed words, and text behind an equals sign
                [*APPRISE, *options],
                env={**plain, "APPRISE_URLS": address},
                input=body.encode(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=seconds,
                check=False,
            ).returncode
        except subprocess.TimeoutExpired:
            return None

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(run, addresses))


@contextlib.contextmanager
def notifying(
    settings: Settings, bars: str, reference: Path | None = None, *, dry_run: bool = False
) -> Iterator[Callable[[Manifest, Report], None]]:
    """Send how the run within the block ended, unless it is a dry run, found nothing new or was
    stopped by somebody. What it yields is called with the night that was published.

    Raises:
        SettingsError: an address cannot be used; then the block is not entered.
    """
    if dry_run:
        settings = settings.model_copy(update={"notify": ()})
    check(settings.notify_addresses)
    check_screens(settings.notify_screens)
    before = served(settings) if settings.notify else None
    published: list[Callable[[], Message]] = []
    error: BaseException | None = None
    try:
        yield lambda manifest, report: published.append(
            partial(of_night, settings, manifest, report.drifted, before)
        )
    except BaseException as caught:
        error = caught
        raise
    finally:
        failed = partial(_of_error, settings, error, bars, reference)
        notify(settings, published[-1] if published else failed)


def notify(settings: Settings, make: Callable[[], Message | None]) -> None:
    """Send a message, unless there is none or it was the last one; never raises an error."""
    if not settings.notify:
        return
    try:
        message = make()
        line = _send_new(settings, message) if message else None
    except Exception as error:  # whatever fails here, the night does not
        line = f"No message about the night was sent ({type(error).__name__})."
    if line:
        with contextlib.suppress(OSError, EndedError):
            err.print(line)


def _send_new(settings: Settings, message: Message) -> str | None:
    """Send what was not sent last; a line that says which addresses it did not reach."""
    last = DataFolder(settings.data_dir).notified
    digest = hashlib.sha256(message.about.encode()).hexdigest()
    if message.about and _is_known(last, digest, message.repeat_seconds):
        return None
    missed = [line for line in send(settings.notify_addresses, message) if not line.endswith(SENT)]
    if message.about and len(missed) < len(settings.notify):
        with contextlib.suppress(OSError):
            replace_file(last, digest.encode())
    return f"Not notified: {'; '.join(missed)}." if missed else None


def _is_known(last: Path, digest: str, seconds: float) -> bool:
    """Whether this was sent last, not so long ago. A clock that was set back counts as time."""
    try:
        age = abs(time.time() - last.stat().st_mtime)
        return age < seconds and last.read_bytes() == digest.encode()
    except OSError:
        return False


def of_night(
    settings: Settings,
    manifest: Manifest,
    drifted: Sequence[str] = (),
    before: Manifest | None = None,
) -> Message:
    """The message of a published night; `before` is the one that was served until then.

    Raises:
        ManifestError, BookError: the night is not what was sealed.
    """
    with contextlib.closing(open_book(settings.data_dir, manifest.data_version)) as book:
        screens = list(_screens(settings, book))
        return messages.published(
            settings.url, manifest, book, settings.notify_symbols, drifted, before, screens
        )


def _screens(settings: Settings, book: Book) -> Iterator[str]:
    """What entered, triggered in and left the screens of the settings, in lines."""
    if not settings.notify_screens:
        return
    # Imported here, since most operators name no screen, and these bring what serves.
    from mcp_server.operations.screen_changes import screen_changes
    from store.nights.active_night import read_compared

    since = (book.changes() or {}).get("since_version")
    compared = read_compared(settings.data_dir, since)
    for parameters in map(read_link, settings.notify_screens):
        query = query_of(parameters)
        if parameters is not None and query is not None:  # as `check_screens` found
            link = f"{settings.url}{address_of(parameters)}"
            yield from messages.screen(settings.url, link, screen_changes(query, book, compared))


def _of_error(
    settings: Settings, error: BaseException | None, bars: str, reference: Path | None
) -> Message | None:
    """The message of a run that failed; None if nothing was new, or somebody stopped it."""
    if isinstance(error, SealedError | EndedError) or not isinstance(error, Exception):
        return None
    is_ours = isinstance(error, NightlyError | StoreError | SettingsError)
    if reason := str(error) if is_ours else trouble_of(error):
        code, reason = exit_code(error), without_folders(reason, settings, bars, reference)
    else:
        code, reason = CRASH, f"{FAULT} ({type(error).__name__})"
    held_back = isinstance(error, HeldBackError)
    return messages.not_published(settings.url, reason, code, served(settings), held_back=held_back)
