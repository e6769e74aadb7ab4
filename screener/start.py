"""The first start: a night, an account and a key, so that a first answer is one paste away."""

from __future__ import annotations

from mcp_server.operations.host_values import DEMO, claude_mcp_add
from screener.serving import check_active_night
from screener.settings import Settings
from store.accounts import Accounts, Plan
from store.database import Database
from store.keys import Keys
from store.nights import Nights
from store.watchlist import Watchlist

FIRST_EMAIL = "me@localhost"


def seal_first_night(settings: Settings) -> None:
    """Seal the sample night where there is none yet; a damaged active night is an error."""
    if Nights(settings.data_dir).pointer.exists():
        check_active_night(settings)
        return
    # Imported where it is needed: a process that only serves does without numba and Polars.
    from screener.nightly import order_of, seal, watched

    with watched() as step:
        seal(settings, order_of(settings), step)


async def first_account(settings: Settings) -> str | None:
    """Make the first account, tracking the demo symbols; its key's secret, None if not first."""
    database = Database(settings.accounts_url)
    try:
        await database.migrate()
        accounts = Accounts(database)
        if await accounts.all():
            return None
        account = await accounts.add(FIRST_EMAIL, Plan.PREMIUM_PLUS)
        symbols = settings.demo_symbols
        await Watchlist(database).replace(account.id, symbols, len(symbols))
        keys = Keys(database, prefix=settings.key_prefix)
        return (await keys.create(FIRST_EMAIL, "first key"))[1]
    finally:
        await database.close()


def greeting(settings: Settings, secret: str | None) -> str:
    """What to paste next."""
    night = Nights(settings.data_dir).active()
    session = night.as_of_session if night else "none"
    offer = settings.offer
    if secret is None:
        return (
            f"Serving {offer.public_url}, session {session}. Your first key was shown once, when "
            "it was made; make another with:\n"
            f"  screener key create {FIRST_EMAIL} --name NAME\n"
        )
    symbol = settings.demo_symbols[0] if settings.demo_symbols else "AAPL"
    return (
        f"Serving {offer.public_url}, session {session}.\n\n"
        f"Your API key, shown this once:\n\n  {secret}\n\n"
        "Give it to your shell: this waits for you to paste the key, and keeps it out of the "
        "history:\n"
        "  read -rs SCREENER_KEY && export SCREENER_KEY\n\n"
        "Ask a question with curl:\n"
        '  curl -H "Authorization: Bearer $SCREENER_KEY" '
        f"{offer.base_url}/tickers/{symbol}/patterns\n\n"
        "Give it to Claude:\n"
        f"  {claude_mcp_add(offer.mcp_url, key='$SCREENER_KEY')}\n\n"
        "Or try it without a key:\n"
        f"  curl {offer.base_url}/demo/{symbol}\n"
        f"  {claude_mcp_add(offer.demo_url, DEMO)}\n"
    )
