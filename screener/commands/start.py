"""The first start: a night, an account and a key, so that a first answer is one paste away."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from contextlib import closing

from mcp_server.presentation.hosts import KEY, install
from mcp_server.presentation.offer import Offer
from screener.data.night import open_book
from screener.server.serving import check_active_night
from screener.settings.console import watched
from screener.settings.settings import Settings
from store.accounts.accounts import FIRST_EMAIL, AccountPlan, Accounts
from store.accounts.keys import Keys
from store.accounts.passwords import Passwords
from store.accounts.watchlist import Watchlist
from store.ledger.manifest import SAMPLE, Manifest
from store.nights.nights import Nights

KEYED_CURL = 'curl -H "Authorization: Bearer $SCREENER_KEY"'


def seal_first_night(settings: Settings) -> None:
    """Seal the sample night where there is none yet; a damaged active night is an error. Where
    nights come from a shared store, none is made.
    """
    if settings.nights_url is not None or Nights(settings.data_dir).pointer.exists():
        check_active_night(settings)
        return
    # Imported where it is needed: a process that only serves does without numba and Polars.
    from screener.commands.nightly import make_and_publish, order_of
    from screener.service.recording import recorded

    with watched() as watch, recorded(settings, SAMPLE, watch) as step:
        step.note_published(*make_and_publish(settings, order_of(settings), step, step.leave_out))


async def first_account(settings: Settings, tracked: Sequence[str]) -> tuple[str, str] | None:
    """Make the first account, tracking some symbols; its key's secret and its password, None if
    there is an account already.
    """
    async with settings.database() as database:
        await database.migrate()
        accounts = Accounts(database)
        if await accounts.all():
            return None
        password = secrets.token_urlsafe(12)  # 96 random bits, which are 16 characters
        hashed = await Passwords().hash(password)
        account = await accounts.add(FIRST_EMAIL, AccountPlan.PREMIUM_PLUS, hashed)
        await Watchlist(database).change(account.id, lambda _: tracked)
        keys = Keys(database, prefix=settings.key_prefix)
        return (await keys.create(FIRST_EMAIL, "first key"))[1], password


def greeting(settings: Settings, first: tuple[str, str] | None, *, own_bars: bool) -> str:
    """What to paste next; with bars of the reader's own, what they can be asked."""
    night = Nights(settings.data_dir).active()
    session = f"session {night.as_of_session}" if night else "no night yet"
    offer = settings.offer
    example = None if own_bars else _example(settings, night)
    if first is None:
        return (
            f"Serving {offer.public_url}, {session}. Your first key and password were shown once, "
            "when they were made; make others with:\n"
            f"  screener key create {FIRST_EMAIL} --name NAME\n"
            f"  screener account password {FIRST_EMAIL}\n"
        )
    key, password = first
    return (
        f"Serving {offer.public_url}, {session}.\n\n"
        f"Your API key, shown this once:\n\n  {key}\n\n"
        "Web sign-in, for a watchlist and keys (also shown only once):\n\n"
        f"  e-mail address  {FIRST_EMAIL}\n  password        {password}\n\n"
        "Give the key to your shell (paste it when this waits; it stays out of the history):\n"
        "  read -rs SCREENER_KEY && export SCREENER_KEY\n\n"
        f"{_of_example(settings, example) if example else _of_own_bars(settings)}"
        f"Change the password: screener account password {FIRST_EMAIL}\n"
        "Here `screener` is .venv/bin/screener; `source .venv/bin/activate` makes it a command.\n"
    )


def _example(settings: Settings, night: Manifest | None) -> str | None:
    """The first demo symbol with a setup in the night; None if none has one."""
    if night is None:
        return None
    with closing(open_book(settings.data_dir)) as book:
        counts = book.scan.counts
    return settings.offer.with_example(counts).example


def _of_example(settings: Settings, symbol: str) -> str:
    offer = settings.offer
    return (
        "Get its setups with curl:\n"
        f"  {KEYED_CURL} {offer.base_url}/tickers/{symbol}/patterns\n\n"
        "Connect Claude Code:\n"
        f"  {_claude_command(offer)}\n\n"
        "Or try it without a key:\n"
        f"  curl {offer.base_url}/demo/{symbol}\n"
        f"  {install(offer)['claude_code_demo']}\n\n"
    )


def _of_own_bars(settings: Settings) -> str:
    offer = settings.offer
    command = _claude_command(offer)
    if offer.extended:
        command = command.replace(offer.mcp_url, offer.extended_url)
    return (
        "When the night is published, get its setups:\n"
        f"  {KEYED_CURL} '{offer.base_url}/scan?status=all'\n\n"
        "Charts and history need a symbol on your watchlist; add some:\n"
        f"  {KEYED_CURL} -X PATCH -H 'Content-Type: application/json' "
        f'-d \'{{"add": ["SYMBOL"]}}\' {offer.base_url}/tickers\n\n'
        "Connect Claude Code, with the tools for the scan and the watchlist:\n"
        f"  {command}\n\n"
    )


def _claude_command(offer: Offer) -> str:
    """The command of Claude Code, which takes the key from the shell."""
    return install(offer)["claude_code"].replace(KEY, "$SCREENER_KEY")
