"""Problems of the account database: drivers' errors as the store's own, in words for an operator.

What drivers say may quote a part of a password, so only what is known to be harmless is passed on.
"""

from __future__ import annotations

import socket
import sqlite3
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import sqlalchemy as sa
from sqlalchemy.exc import (
    ArgumentError,
    DataError,
    DBAPIError,
    IntegrityError,
    NotSupportedError,
    ProgrammingError,
    SQLAlchemyError,
)

from screener.telemetry.metrics import database_failures
from store.database.engines import NAMES
from store.errors import DatabaseError, DatabaseUnavailableError, MissingTablesError
from store.folder.trouble import words_of

HOW: Final = (
    "write it as postgresql://USER:PASSWORD@HOST/DATABASE, with each @, :, / and ? of the "
    "password as %40, %3A, %2F and %3F, and with no parameters but those of "
    "docs/several-machines.md"
)

HIDDEN: Final = "***"

SQLITE: Final = "sqlite+aiosqlite"

MEANT: Final = {"postgresql": "postgresql", "postgres": "postgresql", "sqlite": SQLITE}
"""How a URL begins that can be used, by the name of the database."""

REFUSALS: Final = {
    "28P01": "the password is wrong",
    "28000": "this user may not sign in from here",
    "3D000": "there is no such database on the server; make it with createdb",
    "53300": "the server has no connections left; raise max_connections",
    "42501": "the user may not do this; make it the owner of the database",
    "57P03": "the server is starting or stopping; try again",
    "53100": "the disk of the server is full; make room there",
    "25006": "the database is read-only; name the primary server",
    "55P03": "others use the accounts; stop the service, or try again",
}
"""PostgreSQL's SQLSTATE codes (Appendix A of its manual), in words."""


FILES: Final = ("sslrootcert", "sslcert", "sslkey", "sslcrl")
"""The parameters that name a file of this machine."""

TRANSIENT = (
    "SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_PROTOCOL", "SQLITE_IOERR", "SQLITE_FULL",
    "SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_NOMEM",
)  # fmt: skip
"""SQLite's result codes for failures of a lock, the disk or memory, not of the statement."""

NO_TABLE: Final = "42P01"
"""PostgreSQL's SQLSTATE code where SQLite says "no such table"."""


@contextmanager
def translated(url: str, *more: type[Exception]) -> Iterator[None]:
    """Raise what the driver or the pool of a database raises, and more, as errors of the store;
    only a violated constraint is as it was: the caller knows what that means.
    """
    try:
        yield
    except IntegrityError:
        raise
    except Exception as error:
        if not isinstance(error, (SQLAlchemyError, *more)):
            raise
        problem = _problem(error, url)
        is_away = isinstance(problem, DatabaseUnavailableError)
        database_failures.labels("unavailable" if is_away else "refused").inc()
        raise problem from error


def _problem(error: Exception, url: str) -> DatabaseError:
    cause = _cause(error)
    if _sqlstate(cause) == NO_TABLE or str(cause).startswith("no such table: "):
        return MissingTablesError()
    is_transient = _is_transient(error, cause)
    if not is_transient and _sqlstate(cause) not in REFUSALS:
        return DatabaseError(f"The account database refused a statement ({error}).")
    kind = DatabaseUnavailableError if is_transient else DatabaseError
    return kind(
        f"The account database cannot be used: {explain(error, url)} "
        "(SCREENER_DATABASE_URL or SCREENER_DATA_DIR names it)."
    )


def _is_transient(error: Exception, cause: BaseException) -> bool:
    """Whether an error is temporary, so that trying again may succeed."""
    if isinstance(cause, sqlite3.OperationalError):
        return cause.sqlite_errorname.startswith(TRANSIENT)
    return not isinstance(error, ProgrammingError | DataError | NotSupportedError | ArgumentError)


def _cause(error: Exception) -> BaseException:
    return error.orig if isinstance(error, DBAPIError) and error.orig is not None else error


def _sqlstate(cause: BaseException) -> str | None:
    return getattr(cause, "sqlstate", None)


def is_postgresql(url: str) -> bool:
    """Whether a URL is a PostgreSQL server's, and not SQLite's.

    Raises:
        ArgumentError, ValueError: it cannot be read. What it says may quote the password.
        DatabaseError: it names no driver that there is, or one that is not installed.
    """
    driver = sa.make_url(url).drivername
    if driver not in {SQLITE, *NAMES}:
        meant = MEANT.get(driver.partition("+")[0])
        begin = f"write {meant}:// instead of {driver}://" if meant else HOW
        raise DatabaseError(f"SCREENER_DATABASE_URL cannot be used with {driver}; {begin}.")
    if driver in NAMES and find_spec("asyncpg") is None:
        raise DatabaseError(
            "SCREENER_DATABASE_URL needs the driver asyncpg, which is not installed; "
            "pip install 'pattern-screener[postgresql]'."
        )
    return driver in NAMES


def explain(error: Exception, url: str) -> str:
    """Why a database could not be opened or does not answer, without a full stop."""
    place, cause = sa.make_url(url), _cause(error)
    if place.get_backend_name() == "sqlite":
        return _of_file(cause, place.database or "")
    server = f"{place.host or 'localhost'}:{place.port or 5432}"
    if slip := _slip(cause, place):
        return slip
    if isinstance(cause, socket.gaierror):
        return f"the host {place.host} is not known; check its name for a typo"
    if isinstance(cause, TimeoutError):
        return f"{server} does not answer; check for a firewall, and that the server runs"
    if refused := REFUSALS.get(_sqlstate(cause) or ""):
        return f"{server}, database {place.database}, user {place.username}: {refused}"
    if isinstance(cause, ssl.SSLError):
        reason = cause.reason or "it ended"
        return f"{server}: TLS failed ({reason}); check sslmode and sslrootcert"
    if type(cause) is ConnectionError:  # the driver's own
        return f"{server} accepts no connection with this sslmode; check whether it has TLS"
    if isinstance(cause, OSError):
        return f"nothing listens at {server}; check that the server runs there"
    return f"{server}: {type(cause).__name__}"


def _slip(cause: BaseException, place: sa.URL) -> str | None:
    """What is wrong with the URL itself, if it is that."""
    if "@" in (place.host or ""):  # what stands before it is of the password: it is not repeated
        return "the host has an @ in it; write each @ of the password as %40"
    files = {name: str(place.query[name]) for name in FILES if name in place.query}
    missing = [name for name, path in files.items() if not Path(path).exists()]
    if isinstance(cause, OSError) and missing:
        names = ", ".join(missing)
        return f"the file of {names} is not there; correct its path, or copy it to this machine"
    # The driver's own error, which no module without the driver can name.
    if "ClientConfigurationError" in {type(each).__name__ for each in (cause, cause.__cause__)}:
        return (
            "a parameter of the URL has a value that it cannot have; verify-ca and verify-full of "
            "sslmode need sslrootcert, the file of the server's authority"
        )
    return None


def without_password(url: str) -> str:
    """A database's URL as it may be shown: with neither its password nor any other secret."""
    try:
        parsed = sa.make_url(url)
    except (ArgumentError, ValueError):
        return HIDDEN
    if "@" in f"{parsed.host}{parsed.database}":
        return HIDDEN  # the password has a bare @, so a part of it reads as a host
    secret = {name: HIDDEN for name in parsed.query if "pass" in name.lower()}
    return parsed.update_query_dict(secret).render_as_string(hide_password=True)


def _of_file(cause: BaseException, file: str) -> str:
    if isinstance(cause, FileNotFoundError | NotADirectoryError):
        return f"the folder of {file} does not exist; make it"
    return f"{file}: {words_of(cause) or cause}"
