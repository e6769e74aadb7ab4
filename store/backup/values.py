"""Values: what the rows of a backup may hold, as the commands that write such rows check it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import sqlalchemy as sa

from store.accounts.accounts import EMAIL, AccountPlan
from store.accounts.audit import EventKind
from store.accounts.credentials import CredentialKind
from store.database.tables import metadata
from store.errors import BackupError

MAX_TEXT: Final = 16 * 1024
"""Characters of a text without a length of its own: twice the longest query of a saved screen."""

SYMBOL: Final = re.compile(r"[A-Z0-9.]+")

KINDS: Final[Mapping[str, frozenset[str]]] = {
    "accounts.plan": frozenset(AccountPlan),
    "audit.kind": frozenset(EventKind),
    "tokens.kind": frozenset(CredentialKind),
}
"""Columns whose values are listed."""

FORMS: Final[Mapping[str, re.Pattern[str]]] = {
    "accounts.email": EMAIL,
    "watchlist.symbol": SYMBOL,
}


def count_checked(table: str, rows: Iterable[Mapping[str, object]]) -> int:
    """Check all values of a table's rows; returns how many rows there are.

    Raises:
        BackupError: no command writes such a value.
    """
    number = 0
    for number, row in enumerate(rows, 1):  # noqa: B007 - the last one is the answer
        for column, value in row.items():
            _check(table, column, value)
    return number


def _check(table: str, column: str, value: object) -> None:
    """Check a value of a row; a column that this program's schema lacks is left to the database."""
    known = metadata.tables.get(table)
    if value is None or known is None or column not in known.c:
        return
    name, kind = f"{table}.{column}", known.c[column].type
    if not any(isinstance(kind, each) and is_one(kind, value) for each, is_one in READERS):
        raise BackupError(f"The backup cannot be restored: {name} has a value of another kind.")
    if name in KINDS and value not in KINDS[name]:
        one_of = ", ".join(sorted(KINDS[name]))
        raise BackupError(
            f"The backup cannot be restored: {name} is {str(value)!r}; it must be one of {one_of}."
        )
    if name in FORMS and not FORMS[name].fullmatch(str(value)):
        raise BackupError(f"The backup cannot be restored: {name} has a value that is none.")


def _is_text(kind: Any, value: object) -> bool:  # noqa: ANN401 - a type of SQLAlchemy
    most = kind.length or MAX_TEXT
    return isinstance(value, str) and len(value) <= most and "\0" not in value


def _is_number(_: object, value: object) -> bool:
    return type(value) is int and 0 <= value < 2**63


def _is_texts(_: object, value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


READERS: Final[tuple[tuple[type, Callable[[Any, object], bool]], ...]] = (
    (sa.Boolean, lambda _, value: isinstance(value, bool)),
    (sa.Integer, _is_number),
    (sa.String, _is_text),
    (sa.JSON, _is_texts),
    (sa.Date, lambda _, value: isinstance(value, str)),
    (sa.types.TypeDecorator, lambda _, value: isinstance(value, str)),
)
"""What a value of a column is in JSON; times are read by the database's own reader."""
