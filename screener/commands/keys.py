"""`screener key`: API keys for programs."""

from __future__ import annotations

import datetime as dt
import re
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from screener.settings.console import Table, err, fail, out, with_keys

if TYPE_CHECKING:
    from store.accounts.keys import Key

keys_app = typer.Typer(no_args_is_help=True, help="Create, list, replace and revoke API keys.")

MOST_DAYS = 3650
"""The farthest end of a key that has one."""

Email = Annotated[str, typer.Argument(help="E-mail address of the account.")]
Prefix = Annotated[str, typer.Argument(help="First 16 characters of the key, as /me shows them.")]


@keys_app.command("create")
def create(
    email: Email,
    name: Annotated[str, typer.Option(help="What the key is for.")],
    expires: Annotated[
        str | None,
        typer.Option(help="When it expires: after days (90d) or a last day in UTC (2027-01-31)."),
    ] = None,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="It cannot change the list of tracked tickers.")
    ] = False,
) -> None:
    """Create a key. The secret alone goes to stdout, once; it is not stored."""
    expires_at = read_end(expires, dt.datetime.now(dt.UTC)) if expires else None
    key, secret = with_keys(
        lambda keys: keys.create(email, name, expires_at=expires_at, read_only=read_only)
    )
    _show(key, secret)


@keys_app.command("replace")
def replace(prefix: Prefix) -> None:
    """Revoke a key and create a new one with its name, end and rights."""
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
    listed = Table("prefix", "name", "may", "created", "ends", "revoked")
    for key in with_keys(lambda keys: keys.of_account(email)):
        may = "read" if key.read_only else "read, change"
        days = (key.created_at, key.expires_at, key.revoked_at)
        listed.add_row(
            key.prefix, key.name, may, *(f"{day:%Y-%m-%d}" if day else "" for day in days)
        )
    out.print(listed)


def read_end(text: str, now: dt.datetime) -> dt.datetime:
    """The end that `--expires` says: a number of days from now, or the end of a day in UTC."""
    if days := re.fullmatch(r"([0-9]{1,4})d", text):
        end = now + dt.timedelta(days=int(days[1]))
    else:
        try:
            day = dt.date.fromisoformat(text)
        except ValueError:
            fail("--expires is a number of days, such as 90d, or a date, such as 2027-01-31.")
        end = dt.datetime.combine(day, dt.time(23, 59, 59), dt.UTC)
    if not now < end <= now + dt.timedelta(days=MOST_DAYS):
        fail(f"--expires must lie in the future, at most {MOST_DAYS} days away.")
    return end


def _show(key: Key, secret: str) -> None:
    until = f", until {key.expires_at:%Y-%m-%d %H:%M} UTC" if key.expires_at else ""
    only = ", may only read" if key.read_only else ""
    err.print(f"Key {key.prefix} ({key.name}{until}{only}); this is its secret, shown once:")
    sys.stdout.write(f"{secret}\n")
