"""`screener notify`: what the addresses of `SCREENER_NOTIFY` are told, and whether they answer."""

from __future__ import annotations

from typing import Annotated

import typer

from screener.settings.console import fail, out, plainly, settings
from screener.settings.errors import EndedError

NOT_TOLD = 1
"""The exit code if an address was not told."""


def notify(
    test: Annotated[
        bool, typer.Option("--test", help="Send a test to every address, and say which failed.")
    ] = False,
    message: Annotated[
        str | None, typer.Option(help="Send this text, for example when systemd ended a nightly.")
    ] = None,
) -> None:
    """Show what is told of the active night; with --test or --message, send to SCREENER_NOTIFY."""
    from screener.notify import news
    from screener.notify.notifier import Notifier

    if test and message is not None:
        fail("--test and --message exclude each other; give one of them.")
    chosen = settings()
    if not test and message is None:
        _show()
        return
    if not chosen.notify:
        fail("SCREENER_NOTIFY is not set; give it an address, as docs/scheduling.md says.")
    told = news.trial(chosen.url) if message is None else news.said(chosen.url, message)
    with plainly():
        notifier = Notifier(chosen.notify)
        notifier.check()
        try:
            outcomes = notifier.send(told)
        except OSError as error:
            fail(f"nothing can be sent ({error.strerror}).")
    for outcome in outcomes:
        out.print(outcome.words)
    if any(outcome.state != "sent" for outcome in outcomes):
        raise EndedError(NOT_TOLD)


def _show() -> None:
    from screener.notify.telling import of_night
    from store.nights.nights import Nights

    with plainly():
        chosen = settings()
        found = of_night(chosen, Nights(chosen.data_dir).check_active())
    out.print(found.title)
    for line in found.lines:
        out.print(line)
