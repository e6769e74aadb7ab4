"""Nights published one after the other, and what each served."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from screener.nightly.cleaning.sessions import last_session
from screener.nightly.night import make_night
from screener.nightly.plan import Order
from store.ledger.manifest import Manifest
from store.ledger.served import Line, ServedSetup, Tally, TradeKey
from store.nights.nights import Nights
from store.wire.exchanges import NEW_YORK
from tests.screener.nightly.nights import book_of
from tests.screener.nightly.series import walk, write_csv

NOW = dt.datetime(2024, 4, 2, 12, tzinfo=dt.UTC)

BARS = 700

Change = Mapping[str, Any]


def market(folder: Path, seeds: int) -> Path:
    for seed in range(seeds):
        write_csv(folder / f"S{seed}.csv", walk(BARS, seed=seed))
    return folder


def sessions_before(last: dt.date, number: int, step: int = 1) -> list[dt.date]:
    found = [last]
    while len(found) < number:
        found.insert(0, last_session(found[0] - dt.timedelta(days=step), NEW_YORK))
    return found


@dataclass(frozen=True)
class Seen:
    """A published night: what it served, and what its object says."""

    manifest: Manifest
    lines: list[Line]
    changes: list[Change] | None
    tally: Tally

    def of(self, kind: type[Any]) -> list[Any]:
        return [line for line in self.lines if isinstance(line, kind)]

    @property
    def setups(self) -> dict[TradeKey, ServedSetup]:
        return {setup.key: setup for setup in self.of(ServedSetup)}

    def kinds(self) -> set[tuple[str, str]]:
        return {(change["change"], change["reason"]) for change in self.changes or ()}

    def changed(self, symbol: str) -> list[tuple[str, str]]:
        mine = [change for change in self.changes or () if change["symbol"] == symbol]
        return [(change["change"], change["reason"]) for change in mine]


def publish(order: Order, data: Path, session: dt.date) -> Seen:
    nights = Nights(data)
    manifest, _ = make_night(replace(order, session=session), nights, now=NOW)
    name = nights.ledger.names()[-1]
    head = nights.ledger.head(name)
    with book_of(nights, manifest) as book:
        found = book.changes()
        served = {
            TradeKey(symbol, setup.fields["lineage_id"], setup.evidence["attempt"])
            for symbol, setup_id in sorted((view.symbol, view.setup_id) for view in book.scan.rows)
            if (setup := book.setup(symbol, setup_id))
        }
    seen = Seen(
        manifest,
        nights.ledger.read(name).lines(),
        found["changes"] if found else None,
        head.as_served,  # type: ignore[union-attr]
    )
    assert seen.setups.keys() == served, "the object names what the book serves"
    return seen
