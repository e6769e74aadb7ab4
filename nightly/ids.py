"""Ids of lineages and setups: short digests of their facts, the same on every run over the bars."""

from __future__ import annotations

import base64
import datetime as dt
import hashlib

from nightly.events import Scale


def lineage_id(
    symbol: str, scale: Scale, start: dt.date, first_served: dt.date, twin: int = 0
) -> str:
    """The id of a lineage, from its first version: it never changes unless the bars do.

    `twin` counts the older lineages of the same scale that begin and are first served on the same
    days, for example a wedge and a triangle that start at the same low.
    """
    return _digest(twin, symbol, scale.name, start.isoformat(), first_served.isoformat())


def setup_id(lineage: str, attempt: int, session: dt.date, twin: int = 0) -> str:
    """The id of a setup in one session. A running trade and a later attempt differ by attempt.

    `twin` counts the older setups of the same lineage and attempt that are served in that session.
    There may be some, because a candidate joins a lineage by the lineage's span, which may be
    longer than the span of the setup in it.
    """
    return _digest(twin, lineage, str(attempt), session.isoformat())


def _digest(twin: int, *facts: str) -> str:
    if twin:
        facts += (str(twin),)
    digest = hashlib.blake2b("\x1f".join(facts).encode(), digest_size=10).digest()
    return base64.b32encode(digest).decode("ascii").lower()
