"""`screener account`: who may call."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from screener.settings.console import Table, err, fail, out, plainly, with_accounts
from store.wire.lines import harmless

if TYPE_CHECKING:
    from store.accounts.access import Ended
    from store.accounts.accounts import Account, Accounts

accounts_app = typer.Typer(
    no_args_is_help=True, help="Add, list, change, deactivate and delete accounts."
)

Email = Annotated[str, typer.Argument(help="E-mail address of the account.")]
FromStdin = Annotated[
    bool, typer.Option("--password-stdin", help="Read the sign-in password from stdin.")
]
PlanName = Literal["premium_plus", "premium", "none"]


@accounts_app.command("add")
def add(
    email: Email,
    plan: Annotated[PlanName, typer.Option(help="premium_plus: 200 tickers; premium: 50 in beta.")],
    ask: Annotated[bool, typer.Option("--password", help="Ask for a sign-in password.")] = False,
    password_stdin: FromStdin = False,
) -> None:
    """Add an account."""
    from store.accounts.accounts import Plan
    from store.accounts.passwords import Passwords

    password = _read_password() if password_stdin else _ask_password() if ask else None

    async def work(accounts: Accounts) -> Account:
        hashed = await Passwords().hash(password) if password else None
        return await accounts.add(email, Plan(plan), hashed)

    account = with_accounts(work)
    err.print(f"Added {account.email} with plan {account.plan}.")
    err.print(f"Next: screener key create {account.email} --name NAME")


@accounts_app.command("list")
def list_accounts() -> None:
    """List the accounts."""
    listed = Table("email", "plan", "active", "created")
    for account in with_accounts(lambda accounts: accounts.all()):
        created = f"{account.created_at:%Y-%m-%d}"
        listed.add_row(account.email, account.plan, "yes" if account.active else "no", created)
    out.print(listed)


@accounts_app.command("plan")
def set_plan(email: Email, plan: Annotated[PlanName, typer.Argument(help="The new plan.")]) -> None:
    """Change an account's plan; its keys follow at once."""
    from store.accounts.accounts import Plan

    account = with_accounts(lambda accounts: accounts.set_plan(email, Plan(plan)))
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

    password = _read_password() if password_stdin else _ask_password()

    async def work(accounts: Accounts) -> Ended:
        await accounts.get(email)
        hashed = await Passwords().hash(password)
        return await accounts.set_password(email, hashed, end_access=end_keys)

    ended = with_accounts(work)
    err.print(f"{email} has a new password; browser sessions ended: {ended.sessions}.")
    if end_keys:
        err.print(f"Keys revoked: {ended.keys}; apps revoked: {ended.apps}.")


@accounts_app.command("delete")
def delete(
    email: Email, yes: Annotated[bool, typer.Option("--yes", help="Do not ask first.")] = False
) -> None:
    """Delete an account with everything about it: keys, apps, list, sign-ins, usage and events."""
    with_accounts(lambda accounts: accounts.get(email))
    if not yes and not typer.confirm(
        f"Delete {harmless(email)} and everything about it?", err=True
    ):
        fail("nothing was deleted.")
    deleted = with_accounts(lambda accounts: accounts.delete(email))
    err.print(f"Deleted {email}, and with it {_counted(deleted)}.")


@accounts_app.command("deactivate")
def deactivate(email: Email) -> None:
    """Deactivate an account: its keys answer 401 until it is reactivated. Its browsers sign out."""
    with_accounts(lambda accounts: accounts.set_active(email, active=False))
    err.print(f"{email} is now inactive.")


@accounts_app.command("reactivate")
def reactivate(email: Email) -> None:
    """Reactivate an account that was deactivated."""
    with_accounts(lambda accounts: accounts.set_active(email, active=True))
    err.print(f"{email} is active again.")


def _counted(deleted: Mapping[str, int]) -> str:
    words = {
        "keys": "keys",
        "grants": "connected apps",
        "watchlist": "tracked tickers",
        "sessions": "browser sessions",
        "usage": "lines of usage",
        "audit": "events",
    }
    return ", ".join(f"{deleted[table]} {word}" for table, word in words.items())


def _read_password() -> str:
    return _strong(sys.stdin.readline().rstrip("\r\n"))


def _ask_password() -> str:
    return _strong(typer.prompt("New password", hide_input=True, confirmation_prompt=True))


def _strong(password: str) -> str:
    from store.accounts.passwords import check_strength

    with plainly():
        check_strength(password)
    return password
