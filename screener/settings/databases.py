"""Databases: the account database of the settings."""

from __future__ import annotations

from screener.settings.settings import Settings
from store.database.database import Database


def database_of(settings: Settings, url: str | None = None) -> Database:
    """The account database of the settings, or another one that is waited for as they say.

    Raises:
        DatabaseError: none can be opened with its URL.
    """
    return Database(
        url or settings.accounts_url, pool=settings.database_pool, seconds=settings.database_seconds
    )
