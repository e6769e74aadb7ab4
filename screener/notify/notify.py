"""`screener notify`: shows what is sent of the active night, and tries the addresses."""

from __future__ import annotations

from typing import Annotated

import typer

from screener.settings.console import fail, out, settings
from screener.settings.errors import EndedError

NOT_SENT = 1
"""The exit code if an address was not reached."""


def notify(
    test: Annotated[
        bool, typer.Option("--test", help="Send a test message to every service.")
    ] = False,
    message: Annotated[
        str | None,
        typer.Option(help="Send this text, for example from systemd when a nightly failed."),
    ] = None,
) -> None:
    """Preview the message about the active night; with --test or --message, send one.

    Messages go to the services in SCREENER_NOTIFY when a night is published, held back, fails or is
    withdrawn.

    \b
    screener notify
    screener notify --test
    """
    from screener.notify import messages
    from screener.notify.send import SENT, check, check_screens, of_night, send
    from store.nights.nights import Nights

    if test and message is not None:
        fail("--test and --message exclude each other; give one of them.")
    chosen = settings()
    check_screens(chosen.notify_screens)
    if not test and message is None:
        night = of_night(chosen, Nights(chosen.data_dir).check_active())
        out.print("This is what would be sent:")
        for line in (night.title, *night.lines):
            out.print(line)
        return
    if not chosen.notify:
        fail("SCREENER_NOTIFY is not set; give it an address, as docs/operate.md says.")
    check(chosen.notify_addresses)
    text = messages.trial(chosen.url)
    if message is not None:
        text = messages.of_operator(chosen.url, message)
    outcomes = send(chosen.notify_addresses, text)
    for line in outcomes:
        out.print(line)
    if not all(line.endswith(SENT) for line in outcomes):
        raise EndedError(NOT_SENT)
