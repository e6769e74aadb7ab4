"""`screener account` and `screener key`: who may call, and with which keys."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from screener.console import Table, err, out, plainly, with_accounts, with_keys

if TYPE_CHECKING:
    from store.accounts import Account, Accounts
    from store.keys import Key

accounts_app = typer.Typer(no_args_is_help=True, help="Add, list, change and silence accounts.")
keys_app = typer.Typer(no_args_is_help=True, help="Create, list, replace and revoke API keys.")

Email = Annotated[str, typer.Argument(help="E-mail address of the account.")]
FromStdin = Annotated[
    bool, typer.Option("--password-stdin", help="Read the sign-in password from stdin.")
]
PlanName = Literal["premium_plus", "premium", "none"]
Prefix = Annotated[str, typer.Argument(help="First 16 characters of the key, as /me shows them.")]


@accounts_app.command("add")
def add(
    email: Email,
    plan: Annotated[PlanName, typer.Option(help="premium_plus: 200 tickers; premium: 50 in beta.")],
    password_stdin: FromStdin = False,
) -> None:
    """Add an account."""
    from store.accounts import Plan
    from store.passwords import Passwords

    password = _read_password() if password_stdin else None

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
    from store.accounts import Plan

    account = with_accounts(lambda accounts: accounts.set_plan(email, Plan(plan)))
    err.print(f"{account.email} has plan {account.plan} now.")


@accounts_app.command("password")
def set_password(email: Email, password_stdin: FromStdin = False) -> None:
    """Give an account a new sign-in password, which signs it out of every browser."""
    from store.passwords import Passwords

    password = _read_password() if password_stdin else _ask_password()

    async def work(accounts: Accounts) -> int:
        await accounts.get(email)
        return await accounts.set_password(email, await Passwords().hash(password))

    ended = with_accounts(work)
    err.print(f"{email} has a new password; {ended} browser sessions are ended.")


@accounts_app.command("deactivate")
def deactivate(email: Email) -> None:
    """Silence an account: its keys answer 401 until it is reactivated."""
    with_accounts(lambda accounts: accounts.set_active(email, active=False))
    err.print(f"{email} is inactive now.")


@accounts_app.command("reactivate")
def reactivate(email: Email) -> None:
    """Bring a silenced account back."""
    with_accounts(lambda accounts: accounts.set_active(email, active=True))
    err.print(f"{email} is active again.")


@keys_app.command("create")
def create(email: Email, name: Annotated[str, typer.Option(help="What the key is for.")]) -> None:
    """Create a key. The secret alone goes to stdout, once; it is not stored."""
    key, secret = with_keys(lambda keys: keys.create(email, name))
    _show(key, secret)


@keys_app.command("replace")
def replace(prefix: Prefix) -> None:
    """Revoke a key and create a new one with its name."""
    key, secret = with_keys(lambda keys: keys.replace(prefix))
    _show(key, secret)


@keys_app.command("revoke")
def revoke(prefix: Prefix) -> None:
    """Revoke a key at once."""
    with_keys(lambda keys: keys.revoke(prefix))
    err.print(f"{prefix} is revoked.")


@keys_app.command("list")
def list_keys(email: Email) -> None:
    """List the keys of an account."""
    listed = Table("prefix", "name", "created", "revoked")
    for key in with_keys(lambda keys: keys.of_account(email)):
        revoked = f"{key.revoked_at:%Y-%m-%d}" if key.revoked_at else ""
        listed.add_row(key.prefix, key.name, f"{key.created_at:%Y-%m-%d}", revoked)
    out.print(listed)


def _show(key: Key, secret: str) -> None:
    err.print(f"Key {key.prefix} ({key.name}); this is its secret, shown once:")
    sys.stdout.write(f"{secret}\n")


def _read_password() -> str:
    return _strong(sys.stdin.readline().rstrip("\r\n"))


def _ask_password() -> str:
    return _strong(typer.prompt("New password", hide_input=True, confirmation_prompt=True))


def _strong(password: str) -> str:
    from store.passwords import check_strength

    with plainly():
        check_strength(password)
    return password
