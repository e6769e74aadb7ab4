"""`screener session`, `grant`, `client` and `purge`: who is signed in, which apps were let in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from screener.settings.console import Table, err, fail, out, with_database

if TYPE_CHECKING:
    from screener.service.sweeping import Removed
    from screener.settings.settings import Settings
    from store.accounts.grants import Client, Grant
    from store.accounts.sessions import Session
    from store.database.database import Database

sessions_app = typer.Typer(no_args_is_help=True, help="List and end browser sign-ins.")
grants_app = typer.Typer(no_args_is_help=True, help="List and revoke access granted to apps.")
clients_app = typer.Typer(no_args_is_help=True, help="List and delete agent hosts.")

Email = Annotated[str, typer.Argument(help="E-mail address of the account.")]


@sessions_app.command("list")
def list_sessions() -> None:
    """List the browsers that are signed in."""
    from screener.service.sessions import sessions_of

    async def work(database: Database, chosen: Settings) -> list[Session]:
        return await sessions_of(chosen, database).all()

    listed = Table("email", "since", "last seen")
    for session in with_database(work):
        days = (f"{session.created_at:%Y-%m-%d}", f"{session.seen_at:%Y-%m-%d}")
        listed.add_row(session.email, *days)
    out.print(listed)


@sessions_app.command("end")
def end_sessions(email: Email) -> None:
    """Sign an account out of every browser."""
    from screener.service.sessions import sessions_of
    from store.accounts.accounts import Accounts

    async def work(database: Database, chosen: Settings) -> int:
        account = await Accounts(database).get(email)
        return await sessions_of(chosen, database).end_all(account.id)

    err.print(f"Ended {with_database(work)} of {email}'s sessions.")


@grants_app.command("list")
def list_grants() -> None:
    """List which accounts granted access to which hosts."""
    from store.accounts.accounts import Accounts
    from store.accounts.grants import Grants

    async def work(database: Database, _chosen: Settings) -> list[tuple[str, Grant]]:
        emails = {account.id: account.email for account in await Accounts(database).all()}
        return [(emails[grant.account_id], grant) for grant in await Grants(database).all_grants()]

    listed = Table("prefix", "email", "host", "created", "revoked")
    for email, grant in with_database(work):
        revoked = f"{grant.revoked_at:%Y-%m-%d}" if grant.revoked_at else ""
        listed.add_row(grant.prefix, email, grant.name, f"{grant.created_at:%Y-%m-%d}", revoked)
    out.print(listed)


@grants_app.command("revoke")
def revoke_grant(
    prefix: Annotated[str, typer.Argument(help="The grant's 16 characters, as listed.")],
) -> None:
    """Revoke a grant: everything it issued dies at once."""
    from store.accounts.grants import Grants

    async def work(database: Database, _chosen: Settings) -> bool:
        grants = Grants(database)
        owners = [g.account_id for g in await grants.all_grants() if g.prefix == prefix]
        return bool(owners) and await grants.revoke_grant(owners[0], prefix)

    if not with_database(work):
        fail(f"no grant has the prefix {prefix!r}; `screener grant list` shows them.")
    err.print(f"{prefix} is revoked.")


@clients_app.command("list")
def list_clients() -> None:
    """List the agent hosts; nothing they say of themselves is verified.

    A host whose id is an address is known by the document there, read again once it is stale.
    """
    from store.accounts.grants import Grants

    async def work(database: Database, _chosen: Settings) -> list[Client]:
        return await Grants(database).clients()

    listed = Table("client", "name", "since", "approved", "document")
    for client in with_database(work):
        approved = f"{client.approved_at:%Y-%m-%d}" if client.approved_at else ""
        fresh = f"fresh until {client.fresh_until:%Y-%m-%d %H:%M} UTC" if client.fresh_until else ""
        since = f"{client.created_at:%Y-%m-%d}"
        listed.add_row(client.client_id, client.name, since, approved, fresh)
    out.print(listed)


@clients_app.command("delete")
def delete_client(
    client_id: Annotated[str, typer.Argument(help="The client's id, as listed.")],
) -> None:
    """Delete a host with everything that accounts granted it."""
    from store.accounts.grants import Grants

    async def work(database: Database, _chosen: Settings) -> bool:
        return await Grants(database).delete_client(client_id)

    if not with_database(work):
        fail(f"there is no client {client_id!r}; `screener client list` shows them.")
    err.print(f"{client_id} is deleted.")


def purge() -> None:
    """Remove what is expired, and what is older than SCREENER_AUDIT_DAYS and SCREENER_USAGE_DAYS.

    The service does the same by itself. Used codes and tokens stay while anything they issued can
    live, so that showing one again is still noticed.
    """
    from screener.service.sweeping import sweeper_of

    async def work(database: Database, chosen: Settings) -> Removed:
        return await sweeper_of(chosen, database).sweep()

    rows, failures = with_database(work)
    err.print(
        f"Removed {', '.join(f'{count} {what}' for what, count in rows.items()) or 'nothing'}."
    )
    if failures:
        fail("some expired rows could not be removed; run `screener purge` again.")
