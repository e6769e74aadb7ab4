"""What strangers call themselves, as the command line prints it: never markup, never commands."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from screener.settings.settings import Settings
from store.accounts.accounts import AccountPlan, Accounts, utc_now
from store.accounts.grants import Grants
from store.accounts.keys import Keys
from store.database import tables
from store.database.database import Database
from store.wire.words import harmless
from tests.screener.command import run, run_process
from tests.service import at_database

NAMES = [
    "[/x]",
    "[bold]loud[/bold] [link=https://example.com]here[/link] :bomb:",
    "\x1b]0;title\x07\x1b[2J\x1b[31mred",
    "two\nlines\r\x0bthree\u2028four",
    "\u202egnp.exe \x9b31m",
    "[/x]\x1b[8m hidden",
]


def on(data: Path, work: Callable[[Database], Coroutine[Any, Any, None]]) -> None:
    """Do something to the accounts of a data folder."""

    async def migrated(database: Database) -> None:
        await database.migrate()
        await work(database)

    at_database(Settings(data_dir=data).accounts_url, migrated)


async def store(database: Database, name: str) -> None:
    """A session, a key, a client and a grant of this name, past the checks of who stores them."""
    account = await Accounts(database).add("ada@example.com", AccountPlan.PREMIUM)
    await Keys(database).create(account.email, "laptop")
    await Grants(database).add_client("app", name, ("http://127.0.0.1/",))
    owner = {"account_id": account.id, "created_at": account.created_at}
    async with database.write() as connection:
        for statement in (
            tables.keys.update().values(name=name),
            tables.sessions.insert().values(token_hash="x", seen_at=account.created_at, **owner),
            tables.grants.insert().values(prefix="pso_x", client_id="app", name=name, **owner),
        ):
            await connection.execute(statement)


@pytest.mark.parametrize("name", NAMES)
def test_every_list_prints_a_stored_name_as_it_stands_in_one_line(
    tmp_path: Path, name: str
) -> None:
    async def rename(database: Database) -> None:
        async with database.write() as connection:
            await connection.execute(tables.accounts.update().values(email=name))

    on(tmp_path, lambda database: store(database, name))
    lists = [run(tmp_path, "key", "list", "ada@example.com")]
    on(tmp_path, rename)
    lists += [run(tmp_path, noun, "list") for noun in ("client", "account", "session", "grant")]

    assert [(listed.returncode, listed.stderr) for listed in lists] == [(0, "")] * 5
    printed = [listed.stdout.removesuffix("\n").split("\n") for listed in lists]
    assert all(head.isprintable() and row.isprintable() for head, row in printed)
    assert [row.count(harmless(name)) for _, row in printed] == [1, 1, 1, 1, 2]


def test_what_is_told_of_an_account_is_one_line_too(tmp_path: Path) -> None:
    email = "[/x]\x1b[2j@example.com"

    async def keep(database: Database) -> None:  # as an older version could
        row = {"email": email, "plan": AccountPlan.PREMIUM, "active": True, "created_at": utc_now()}
        async with database.write() as connection:
            await connection.execute(tables.accounts.insert().values(row))

    on(tmp_path, keep)
    told = run(tmp_path, "account", "deactivate", email)
    refused = run(tmp_path, "key", "list", "\x1b[2J@example.com")

    assert told.stderr == "[/x]\N{REPLACEMENT CHARACTER}[2j@example.com is now inactive.\n"
    assert refused.stderr.startswith("screener: There is no account \N{REPLACEMENT CHARACTER}[2J@")


def test_a_terminal_without_a_letter_gets_its_number(tmp_path: Path) -> None:
    on(tmp_path, lambda database: store(database, "猫 [/x]"))

    listed = run_process(tmp_path, "client", "list", PYTHONIOENCODING="ascii", PYTHONUTF8="0")

    assert listed.returncode == 0
    assert "\\u732b [/x]" in listed.stdout


def test_a_table_is_aligned_by_what_a_terminal_shows(tmp_path: Path) -> None:
    on(tmp_path, lambda database: store(database, "猫 cat"))
    row = run(tmp_path, "client", "list").stdout.splitlines()[1]

    assert row.startswith("app     猫 cat  20")
