"""`screener audit`: who signed in, made keys, approved apps and changed accounts."""

from __future__ import annotations

import datetime as dt
import json
import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from screener.settings.console import Table, fail, out, with_database

if TYPE_CHECKING:
    from screener.settings.settings import Settings
    from store.accounts.events import Event
    from store.database.database import Database

DAYS = re.compile(r"([0-9]{1,5})d")


def audit(
    email: Annotated[str | None, typer.Argument(help="Only this account; all when unset.")] = None,
    kind: Annotated[str | None, typer.Option(help="Only this kind, such as sign_in.")] = None,
    since: Annotated[
        str | None, typer.Option(help="Only events since then: days, such as 7d, or a UTC date.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Most events.")] = 100,
    before: Annotated[
        int | None, typer.Option(min=1, max=2**31 - 1, help="Only events below this id.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """Show the audit log, newest first; `--before` and the last id give the next page."""
    from store.accounts.accounts import Accounts
    from store.accounts.audit import Kind
    from store.accounts.events import AuditLog

    if kind is not None and kind not in tuple(Kind):
        fail(f"there is no kind {kind!r}; there are {', '.join(Kind)}.")
    start = None if since is None else _start(since, dt.datetime.now(dt.UTC))

    async def work(database: Database, _chosen: Settings) -> list[Event]:
        account = await Accounts(database).get(email) if email else None
        return await AuditLog(database).events(
            account.id if account else None,
            kind=Kind(kind) if kind else None,
            since=start,
            before=before,
            limit=limit,
        )

    events = with_database(work)
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


def _fields(event: Event) -> dict[str, Any]:
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
