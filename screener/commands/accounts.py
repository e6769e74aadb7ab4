"""`screener account` and `key`: who may call, and the API keys of programs."""

from __future__ import annotations

import datetime as dt
import re
import sys
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer

from screener.commands.groups import group
from screener.settings.console import Table, err, fail, out, prepare_data_dir, settings
from store.wire.words import harmless, plural

if TYPE_CHECKING:
    from screener.service.parts import AccountStore
    from store.accounts.accounts import Account, Ended
    from store.accounts.keys import Key

accounts_app = group(
    "Add, list, change, deactivate and delete accounts.",
    "screener account add ada@example.com --plan premium_plus",
)
keys_app = group(
    "Create, list, replace and revoke API keys.", "screener key create me@localhost --name laptop"
)

MAX_DAYS = 3650
"""The farthest end of a key that has one."""

Email = Annotated[str, typer.Argument(help="E-mail address of the account.")]
FromStdin = Annotated[
    bool, typer.Option("--password-stdin", help="Read the sign-in password from stdin.")
]
PlanName = Literal["premium_plus", "premium", "none"]
Prefix = Annotated[str, typer.Argument(help="First 16 characters of the key, as /me shows them.")]

T = TypeVar("T")


def with_store(work: Callable[[AccountStore], Coroutine[Any, Any, T]]) -> T:
    """Run work on the configured account database, brought up to date first."""
    import anyio

    from screener.service.parts import AccountStore

    chosen = settings()

    async def run() -> T:
        prepare_data_dir(chosen)
        async with chosen.database() as database:
            await database.migrate()
            return await work(AccountStore(chosen, database))

    return anyio.run(run)


def day(time: dt.datetime | None) -> str:
    """The day of a time in a table; empty without one."""
    return f"{time:%Y-%m-%d}" if time else ""


@accounts_app.command("add")
def add(
    email: Email,
    plan: Annotated[PlanName, typer.Option(help="premium_plus: 200 tickers; premium: 50 in beta.")],
    ask: Annotated[bool, typer.Option("--password", help="Ask for a sign-in password.")] = False,
    password_stdin: FromStdin = False,
) -> None:
    """Add an account."""
    from store.accounts.accounts import AccountPlan
    from store.accounts.passwords import Passwords

    password = _password(password_stdin) if password_stdin or ask else None

    async def work(store: AccountStore) -> Account:
        hashed = await Passwords().hash(password) if password else None
        return await store.accounts.add(email, AccountPlan(plan), hashed)

    account = with_store(work)
    err.print(f"Added {account.email} with plan {account.plan}.")
    err.print(f"Next: screener key create {account.email} --name NAME")


@accounts_app.command("list")
def list_accounts() -> None:
    """List the accounts."""
    listed = Table("email", "plan", "active", "created")
    for account in with_store(lambda store: store.accounts.all()):
        active = "yes" if account.active else "no"
        listed.add_row(account.email, account.plan, active, day(account.created_at))
    out.print(listed)


@accounts_app.command("plan")
def set_plan(email: Email, plan: Annotated[PlanName, typer.Argument(help="The new plan.")]) -> None:
    """Change an account's plan; its keys follow at once."""
    from store.accounts.accounts import AccountPlan

    account = with_store(lambda store: store.accounts.set_plan(email, AccountPlan(plan)))
    err.print(f"{account.email} now has plan {account.plan}.")


@accounts_app.command("password")
def set_password(
    email: Email,
    password_stdin: FromStdin = False,
    end_keys: Annotated[
        bool, typer.Option("--end-keys", help="Revoke every key and connected app too.")
    ] = False,
) -> None:
    """Give an account a new sign-in password, which signs it out of every browser."""
    from store.accounts.passwords import Passwords

    password = _password(password_stdin)

    async def work(store: AccountStore) -> Ended:
        await store.accounts.get(email)
        hashed = await Passwords().hash(password)
        return await store.accounts.set_password(email, hashed, end_access=end_keys)

    ended = with_store(work)
    err.print(f"{email} has a new password; browser sessions ended: {ended.sessions}.")
    if end_keys:
        err.print(f"Keys revoked: {ended.keys}; apps revoked: {ended.apps}.")


@accounts_app.command("delete")
def delete(
    email: Email, yes: Annotated[bool, typer.Option("--yes", help="Do not ask first.")] = False
) -> None:
    """Delete an account with everything about it: keys, apps, list, sign-ins, usage and events."""
    with_store(lambda store: store.accounts.get(email))
    if not yes and not typer.confirm(
        f"Delete {harmless(email)} and everything about it?", err=True
    ):
        fail("nothing was deleted.")
    deleted = with_store(lambda store: store.accounts.delete(email))
    err.print(f"Deleted {email}, and with it {_counted(deleted)}.")


@accounts_app.command("deactivate")
def deactivate(email: Email) -> None:
    """Deactivate an account: its keys stop working and its browsers are signed out."""
    with_store(lambda store: store.accounts.set_active(email, active=False))
    err.print(f"{email} is now inactive.")


@accounts_app.command("reactivate")
def reactivate(email: Email) -> None:
    """Reactivate an account that was deactivated."""
    with_store(lambda store: store.accounts.set_active(email, active=True))
    err.print(f"{email} is active again.")


@keys_app.command("create")
def create(
    email: Email,
    name: Annotated[str, typer.Option(help="A name to recognize the key by.")],
    expires: Annotated[
        str | None,
        typer.Option(help="Expiry: in days (90d), or the last day in UTC (2027-01-31)."),
    ] = None,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="The key cannot change the watchlist.")
    ] = False,
) -> None:
    """Create an API key. Only its secret goes to stdout; it is shown once and not stored."""
    expires_at = read_end(expires, dt.datetime.now(dt.UTC)) if expires else None
    key, secret = with_store(
        lambda store: store.keys.create(email, name, expires_at=expires_at, read_only=read_only)
    )
    _show(key, secret)


@keys_app.command("replace")
def replace(prefix: Prefix) -> None:
    """Revoke a key and create a new one with the same name, expiry and rights."""
    key, secret = with_store(lambda store: store.keys.replace(prefix))
    _show(key, secret)


@keys_app.command("revoke")
def revoke(prefix: Prefix) -> None:
    """Revoke a key at once."""
    with_store(lambda store: store.keys.revoke(prefix))
    err.print(f"{prefix} is revoked.")


@keys_app.command("list")
def list_keys(email: Email) -> None:
    """List the keys of an account."""
    listed = Table("prefix", "name", "may", "created", "ends", "revoked")
    for key in with_store(lambda store: store.keys.of_account(email)):
        may = "read" if key.read_only else "read, change"
        days = map(day, (key.created_at, key.expires_at, key.revoked_at))
        listed.add_row(key.prefix, key.name, may, *days)
    out.print(listed)


def _counted(deleted: Mapping[str, int]) -> str:
    words = {
        "keys": "key",
        "grants": "connected app",
        "watchlist": "tracked ticker",
        "sessions": "browser session",
        "usage": "usage line",
        "audit": "event",
    }
    return ", ".join(plural(deleted[table], word) for table, word in words.items())


def _password(from_stdin: bool) -> str:
    """A password that is read or asked for; a weak one is refused."""
    from store.accounts.passwords import check_strength

    if from_stdin:
        password = sys.stdin.readline().rstrip("\r\n")
    else:
        password = typer.prompt("New password", hide_input=True, confirmation_prompt=True)
    check_strength(password)
    return password


def read_end(text: str, now: dt.datetime) -> dt.datetime:
    """The time of `--expires`: a number of days from now, or the end of a day in UTC."""
    if days := re.fullmatch(r"([0-9]{1,4})d", text):
        end = now + dt.timedelta(days=int(days[1]))
    else:
        try:
            last = dt.date.fromisoformat(text)
        except ValueError:
            fail("--expires is a number of days, such as 90d, or a date, such as 2027-01-31.")
        end = dt.datetime.combine(last, dt.time(23, 59, 59), dt.UTC)
    if not now < end <= now + dt.timedelta(days=MAX_DAYS):
        fail(f"--expires must lie in the future, at most {MAX_DAYS} days away.")
    return end


def _show(key: Key, secret: str) -> None:
    until = f", until {key.expires_at:%Y-%m-%d %H:%M} UTC" if key.expires_at else ""
    only = ", may only read" if key.read_only else ""
    err.print(f"Key {key.prefix} ({key.name}{until}{only}); this is its secret, shown once:")
    sys.stdout.write(f"{secret}\n")
