"""Databases: the account database of the settings."""

from __future__ import annotations

from screener.settings import Settings
from store.database import Database


def database_of(settings: Settings) -> Database:
    """The account database of the settings.

    Raises:
        DatabaseError: none can be opened with its URL.
    """
    return Database(
        settings.accounts_url, pool=settings.database_pool, seconds=settings.database_seconds
    )
