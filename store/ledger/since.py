"""Since: what several nights found changed, read back from one night to an earlier one."""

from __future__ import annotations

import datetime as dt
from typing import Any, Final

from store.ledger.ledger import Ledger
from store.ledger.objects import NightHead

MAX_NIGHTS: Final = 60
"""Nights that are read at most: about a quarter, and some 10 ms each."""


def changes_since(ledger: Ledger, version: str, since: dt.date) -> dict[str, Any] | None:
    """What nights after a session found changed, from one night back to that which it was compared
    with, and so on: as `Book.changes`, the newest first, each row with the session of its `night`.
    `since_session` is that of the night where it ends, which may be a later one. None if the night
    is not recorded.

    Raises:
        LedgerError: the object of one of these nights is damaged.
    """
    names = {name.number: name for name in ledger.names() if not name.withdrawal}
    last = max((name for name in names.values() if name.version == version), default=None)
    head = ledger.head(last) if last else None
    if not isinstance(head, NightHead):
        return None
    rows, detector = list[Any](), head.detector
    for _ in range(MAX_NIGHTS):
        earlier = names.get(head.since or 0)
        if head.as_of_session <= since or head.detector != detector or earlier is None:
            break
        told = [row for row in ledger.read(names[head.number]).rows if row["record"] == "change"]
        rows += [row | {"night": str(head.as_of_session)} for row in told]
        compared = ledger.head(earlier)
        if not isinstance(compared, NightHead):
            break
        head = compared
    return {
        "since_session": str(head.as_of_session),
        "since_version": head.data_version,
        "detector_changed": head.detector != detector,
        "changes": rows,
    }
