"""The nights that are asked about, and what was sealed in them, read without the service."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from store.nights.nights import Nights as Sealed
from tests.books import content_of
from tests.contract.market import write_market
from tests.qa.agents.rules import rows_of
from tests.resealed import market_changes, reseal, write_changes
from tests.service import Service, copy_night, serving

Nights = Mapping[str, tuple[Service, Mapping[str, Any]]]
"""The live service of each night, and what was sealed in it."""


@contextmanager
def opened(sample: Path, folder: Path) -> Iterator[Nights]:
    """Serve the sample night of a data folder, and the market that is made from it."""
    copy_night(sample, folder / "sample")
    write_changed_market(sample, folder / "market")
    with ExitStack() as stack:
        yield {
            name: (stack.enter_context(serving(folder / name)), sealed(folder / name))
            for name in ("sample", "market")
        }


def write_changed_market(sample: Path, folder: Path) -> None:
    """Seal the market of 300 setups with what changed since the night before."""
    write_market(sample, folder)
    reseal(folder, lambda content: write_changes(content, market_changes()))


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
