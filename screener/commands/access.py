"""`screener session`, `grant`, `client`, `purge` and `audit`: who is signed in, which apps were let
in, and who did what.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from screener.commands.accounts import Email, day, with_store
from screener.commands.groups import group
from screener.settings.console import Table, err, fail, out

if TYPE_CHECKING:
    from screener.service.parts import AccountStore
    from store.accounts.audit import AuditEvent
    from store.accounts.grants import Grant
    from store.accounts.retention import Removed

sessions_app = group("List and end browser sign-ins.", "screener session end me@localhost")
grants_app = group(
    "List and disconnect the apps of accounts (OAuth grants).", "screener grant list"
)
clients_app = group("List and delete apps (OAuth clients).", "screener client list")

DAYS = re.compile(r"([0-9]{1,5})d")


@sessions_app.command("list")
def list_sessions() -> None:
    """List the browsers that are signed in."""
    listed = Table("email", "since", "last seen")
    for session in with_store(lambda store: store.sessions.all()):
        listed.add_row(session.email, day(session.created_at), day(session.seen_at))
    out.print(listed)


@sessions_app.command("end")
def end_sessions(email: Email) -> None:
    """Sign an account out of every browser."""
    ended = with_store(lambda store: store.accounts.end_sessions(email))
    err.print(f"Ended {ended} of {email}'s sessions.")


@grants_app.command("list")
def list_grants() -> None:
    """List the apps that accounts have connected."""

    async def work(store: AccountStore) -> list[tuple[str, Grant]]:
        emails = {account.id: account.email for account in await store.accounts.all()}
        return [(emails[grant.account_id], grant) for grant in await store.grants.all_grants()]

    listed = Table("prefix", "email", "host", "created", "revoked")
    for email, grant in with_store(work):
        days = (day(grant.created_at), day(grant.revoked_at))
        listed.add_row(grant.prefix, email, grant.name, *days)
    out.print(listed)


@grants_app.command("revoke")
def revoke_grant(
    prefix: Annotated[str, typer.Argument(help="The grant's 16 characters, as listed.")],
) -> None:
    """Disconnect an app from an account: its tokens stop working at once."""

    async def work(store: AccountStore) -> bool:
        owners = [g.account_id for g in await store.grants.all_grants() if g.prefix == prefix]
        return bool(owners) and await store.grants.revoke_grant(owners[0], prefix)

    if not with_store(work):
        fail(f"no grant has the prefix {prefix!r}; `screener grant list` shows them.")
    err.print(f"{prefix} is revoked.")


@clients_app.command("list")
def list_clients() -> None:
    """List the apps (OAuth clients) that may ask for access; their names are not verified.

    An app whose id is a URL is described by the document at that URL.
    """
    listed = Table("client", "name", "since", "approved", "document")
    for client in with_store(lambda store: store.grants.clients()):
        fresh = f"fresh until {client.fresh_until:%Y-%m-%d %H:%M} UTC" if client.fresh_until else ""
        days = (day(client.created_at), day(client.approved_at))
        listed.add_row(client.client_id, client.name, *days, fresh)
    out.print(listed)


@clients_app.command("delete")
def delete_client(
    client_id: Annotated[str, typer.Argument(help="The client's id, as listed.")],
) -> None:
    """Delete an app (OAuth client) and everything that accounts granted it."""
    if not with_store(lambda store: store.grants.delete_client(client_id)):
        fail(f"there is no client {client_id!r}; `screener client list` shows them.")
    err.print(f"{client_id} is deleted.")


def purge() -> None:
    """Remove expired rows, audit events and usage lines; the service does this hourly.

    SCREENER_AUDIT_DAYS and SCREENER_USAGE_DAYS set how long events and usage are kept. Used codes
    and tokens stay while anything they issued is valid, so that reuse is still detected.
    """

    async def work(store: AccountStore) -> Removed:
        await store.database.probe()  # what each kind of rows would fail with is one refusal
        return await store.sweeper.sweep()

    rows, failures = with_store(work)
    err.print(
        f"Removed {', '.join(f'{count} {what}' for what, count in rows.items()) or 'nothing'}."
    )
    if failures:
        fail("some expired rows could not be removed; run `screener purge` again.")


def audit(
    email: Annotated[str | None, typer.Argument(help="Only this account.")] = None,
    kind: Annotated[str | None, typer.Option(help="Only this kind, such as sign_in.")] = None,
    since: Annotated[
        str | None, typer.Option(help="Only events since then: 7d, or a UTC date.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Number of events.")] = 100,
    before: Annotated[
        int | None,
        typer.Option(min=1, max=2**31 - 1, help="Only events older than the one with this id."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object per line.")
    ] = False,
) -> None:
    """See who signed in and what changed in accounts, newest first.

    For the next page, give the last id to `--before`.

    \b
    screener audit --since 7d
    """
    from store.accounts.audit import EventKind

    if kind is not None and kind not in tuple(EventKind):
        fail(f"there is no kind {kind!r}; there are {', '.join(EventKind)}.")
    start = None if since is None else _start(since, dt.datetime.now(dt.UTC))

    async def work(store: AccountStore) -> list[AuditEvent]:
        account = await store.accounts.get(email) if email else None
        return await store.audit.events(
            account.id if account else None,
            kind=EventKind(kind) if kind else None,
            since=start,
            before=before,
            limit=limit,
        )

    events = with_store(work)
    if as_json:
        for event in events:
            out.print(json.dumps(_fields(event)))
        return
    table = Table("id", "time", "kind", "account", "actor", "network", "subject", "agent")
    for event in events:
        number = "" if event.account_id is None else f"#{event.account_id}"
        fields = _fields(event) | {"account": event.email or number}
        del fields["account_id"]
        table.add_row(*map(str, fields.values()))
    out.print(table)


def _fields(event: AuditEvent) -> dict[str, Any]:
    return {
        "id": event.id,
        "at": f"{event.at:%Y-%m-%dT%H:%M:%SZ}",
        "kind": str(event.kind),
        "account": event.email,
        "account_id": event.account_id,
        "actor": event.actor,
        "network": event.network,
        "subject": event.subject,
        "agent": event.agent,
    }


def _start(since: str, now: dt.datetime) -> dt.datetime:
    try:
        if days := DAYS.fullmatch(since):
            return now - dt.timedelta(days=int(days[1]))
        return dt.datetime.combine(dt.date.fromisoformat(since), dt.time(), dt.UTC)
    except (ValueError, OverflowError):
        fail(f"--since takes days, such as 7d, or a date, such as 2026-01-31, not {since!r}.")
