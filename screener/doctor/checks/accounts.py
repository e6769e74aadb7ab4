"""Accounts: whether their database answers, has this program's schema, and is whole."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from screener.doctor.checks.finding import Finding, fault, ok, warning
from screener.doctor.checks.machine import clock_behind

if TYPE_CHECKING:
    from screener.settings.settings import Settings
    from store.accounts.inspection import Inspection

SECONDS: Final = 15.0
"""For which the database may take to answer."""


def accounts(chosen: Settings) -> Iterator[Finding]:
    """What the database says of itself; nothing is made or migrated."""
    import anyio

    from store.accounts.inspection import inspect
    from store.database.reaching import without_password
    from store.errors import StoreError

    url = chosen.accounts_url
    shown = without_password(url)
    file = url.removeprefix("sqlite+aiosqlite:///") if url.startswith("sqlite+aiosqlite:") else None
    if file is not None and not Path(file).exists():
        yield _missing(Path(file), chosen)
        return
    try:
        found = anyio.run(inspect, url, SECONDS)
    except StoreError as error:
        yield fault("accounts", str(error))
    except TimeoutError:
        yield fault("accounts", f"{shown} did not answer within {SECONDS:g} s; check its server.")
    else:
        yield from _told(found, shown)


def _missing(file: Path, chosen: Settings) -> Finding:
    if chosen.database_url and not file.parent.is_dir():
        words = f"the folder of {file} does not exist; make it (SCREENER_DATABASE_URL names it)."
        return fault("accounts", words)
    return ok("accounts", f"{file} does not exist yet; the first command or start makes it")


def _older(found: Inspection) -> str:
    if found.revision is None:
        return (
            "has no tables yet; the next start makes them. Accounts of another database come here "
            "before it, by `screener db copy`."
        )
    return f"is at schema {found.revision}; the next start migrates it."


def _told(found: Inspection, shown: str) -> Iterator[Finding]:
    from store.database.migration import why_unknown
    from store.errors import DatabaseMovedError

    now = dt.datetime.now(dt.UTC)
    if found.damage:
        words = f"{shown} is damaged ({found.damage}); restore it from a backup."
        yield fault("accounts", words)
    elif why := why_unknown(found.revision):
        yield fault("accounts", f"{shown} {why}")
    elif not found.is_current:
        yield warning("accounts", f"{shown} {_older(found)}")
    elif found.is_closed:
        yield fault("accounts", f"{shown}: {DatabaseMovedError()}")
    else:
        yield ok("accounts", f"{shown}, schema {found.revision}")
    if found.newest_event is not None and now < found.newest_event:
        yield clock_behind(now, found.newest_event, "the newest event of the accounts is of")
