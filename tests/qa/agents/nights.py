"""The nights that are asked about, and what was sealed in them, read without the service."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from store.nights.nights import Nights as Sealed
from tests.books import content_of
from tests.qa.agents.rules import rows_of
from tests.service import Service

Nights = Mapping[str, tuple[Service, Mapping[str, Any]]]
"""The live service of each night, and what was sealed in it."""


def sealed(folder: Path) -> dict[str, Any]:
    """What was sealed in the active night of a data folder, for comparing answers with."""
    nights = Sealed(folder)
    manifest = nights.check_active()
    content = content_of(nights.folder / manifest.book.file)
    found = {
        "families": content.families,
        "patterns": content.patterns,
        "ticker_records": content.records,
        "scan": content.scan,
        # Answers leave out the lines of past trades.
        "history": {
            symbol: [{k: v for k, v in trade.items() if k != "lines"} for trade in trades]
            for symbol, (_, trades) in content.histories.items()
        },
        "changes": content.meta.get("changes"),
        "session": manifest.as_of_session.isoformat(),
        "next_session": manifest.next_session and manifest.next_session.isoformat(),
        "disclaimer": manifest.disclaimer,
    }
    return {**found, "summaries": {r["summary"] for r in rows_of(found) if "summary" in r}}
