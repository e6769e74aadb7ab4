"""An installation: its data folder and its account database, and all that they hold."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from screener.settings.settings import Settings
from store.accounts.audit import EventKind
from store.database import tables
from tests import accounts
from tests.postgres import ENGINES, fresh_database
from tests.screener.command import run
from tests.service import apart, at_database, new_key

State = tuple[dict[str, bytes], dict[str, list[str]]]
"""The files of a data folder and the rows of its database."""


@pytest.fixture(params=ENGINES)
def new_url(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], str | None]:
    """Makes addresses of empty databases; None is SQLite in the data folder."""
    if request.param == "sqlite":
        return lambda: None
    server = request.getfixturevalue("postgres_url")
    return lambda: apart(lambda: fresh_database(server, tmp_path.name))


def options(url: str | None) -> dict[str, str]:
    """The settings of a command on a database."""
    return {"SCREENER_DATABASE_URL": url} if url else {}


def state_of(settings: Settings) -> State:
    """All of an installation, without what a restore adds."""
    return files_of(settings.data_dir), rows_of(settings)


def files_of(data: Path) -> dict[str, bytes]:
    """The nights and the ledger of a data folder."""
    paths = [data / "manifest.json", *data.glob("nights/*"), *data.glob("ledger/*")]
    return {
        str(path.relative_to(data)): path.read_bytes()
        for path in paths
        if path.is_file() and path.suffix != ".verified"
    }


def rows_of(settings: Settings) -> dict[str, list[str]]:
    """All rows of all tables, as both databases give them; without what a restore adds."""
    rows = at_database(settings.accounts_url, accounts.rows_of)
    name = tables.audit.name
    return rows | {name: [row for row in rows[name] if f"'{EventKind.RESTORED}'" not in row]}


@contextmanager
def without(data: Path, table: str) -> Iterator[None]:
    """Take a table of the accounts away within the block, so that whatever needs it fails."""
    with closing(sqlite3.connect(data / "accounts.sqlite", isolation_level=None)) as database:
        database.execute("PRAGMA legacy_alter_table = ON")
        database.execute(f"ALTER TABLE {table} RENAME TO away")
        try:
            yield
        finally:
            database.execute(f"ALTER TABLE away RENAME TO {table}")


@pytest.fixture(scope="module")
def sealed(product_night: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a night, its ledger, and accounts; to be read only."""
    folder = tmp_path_factory.mktemp("sealed") / "data"
    shutil.copytree(product_night, folder)
    new_key(Settings(data_dir=folder))
    return folder


@pytest.fixture(scope="module")
def backup(sealed: Path) -> Path:
    """A backup of it."""
    path = sealed.parent / "backup.tar.zst"
    assert run(sealed, "backup", str(path)).returncode == 0
    return path
