"""A synthetic market of any size: the sample night's records, repeated under other symbols.

It is published as the night that the service serves; `plain` stores the same records in the tables
that an ordinary service would have. Only the evidence numbers are random, from a seed.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from store.ledger.manifest import Inputs
from store.nights.book import Prices
from store.nights.nights import Nights
from store.nights.publish import BookWriter
from store.wire.families import Family
from store.wire.records import FamilyEntry, Patterns, ScanSetup, Setup
from tests.contract.market import active_book, evidence_of

SESSION = dt.date(2012, 10, 3)
SOURCE = "Synthetic market"
SETUPS = (1, 1, 0, 1, 1, 0, 2, 1, 0, 1)
"""Number of setups of a symbol, by its position: 0.8 per symbol."""
HISTORY = (60, 20, 20, 20, 20, 20, 20, 20)
"""Number of history rows of a symbol, by its position: 25 per symbol."""
TRACKED = 50
"""The accounts track this many symbols, from the first one on."""


@dataclass(frozen=True)
class Template:
    """The records of the sample night that are repeated."""

    rows: Sequence[ScanSetup]
    evidence: Sequence[Mapping[str, float | int | str | None]]
    outcomes: str
    history: Sequence[bytes]
    prices: Prices
    families: Sequence[FamilyEntry]
    numbers: Sequence[str]
    labels: Mapping[str, Sequence[str | None]]


@dataclass(frozen=True)
class SymbolRecords:
    """One symbol of the market and all its records."""

    symbol: str
    rows: Sequence[tuple[ScanSetup, Mapping[str, float | int | str | None]]]
    outcomes: str
    history: Sequence[bytes]

    @property
    def patterns(self) -> Patterns:
        """The patterns answer of the symbol."""
        setups = [plain_setup(row) for row, _ in self.rows]
        return Patterns(symbol=self.symbol, available=True, setups=setups)


@dataclass(frozen=True)
class SyntheticMarket:
    """Every listing, and the evidence columns in rank order."""

    listings: Sequence[SymbolRecords]
    families: Sequence[FamilyEntry]
    prices: Prices
    numbers: Mapping[str, npt.NDArray[np.float64]]
    labels: Mapping[str, Sequence[str | None]]

    @property
    def scan(self) -> list[ScanSetup]:
        """The scan, best rank first."""
        return [row for listing in self.listings for row, _ in listing.rows]

    @property
    def tracked(self) -> tuple[str, ...]:
        """The symbols that the accounts track; the first has one setup and 60 history rows."""
        return tuple(listing.symbol for listing in self.listings[:TRACKED])


def plain_setup(row: ScanSetup) -> Setup:
    """The setup that a scan row shows."""
    return Setup(**{name: getattr(row, name) for name in Setup.model_fields})


def read_template(sample: Path) -> Template:
    """Read the records to repeat from the sealed sample night of a data folder."""
    book = active_book(sample)
    rows = [ScanSetup.model_validate_json(body) for body in book.features.bodies]
    setups = [book.setup(row.symbol, row.setup_id) for row in rows]
    history, prices = book.history("AAPL"), book.prices("AAPL")
    assert history is not None
    assert prices is not None
    _, numbers, labels = evidence_of(sample)
    found = Template(
        rows=rows,
        evidence=[dict(setup.evidence) for setup in setups if setup is not None],
        outcomes=history.outcomes,
        history=history.rows,
        prices=prices,
        families=[FamilyEntry.model_validate_json(book.family(family)) for family in Family],
        numbers=sorted(numbers),
        labels=labels,
    )
    book.close()
    return found


def make_market(template: Template, symbols: int) -> SyntheticMarket:
    """A market of `symbols` symbols; the same market every time."""
    listings = list(_listings(template, symbols))
    count = sum(len(listing.rows) for listing in listings)
    return SyntheticMarket(
        listings=listings,
        families=template.families,
        prices=template.prices,
        numbers=_numbers(template.numbers, count),
        labels={
            name: [words[rank % len(words)] for rank in range(count)]
            for name, words in template.labels.items()
        },
    )


def _listings(template: Template, symbols: int) -> Iterator[SymbolRecords]:
    rank = 0
    for position in range(symbols):
        symbol = f"S{position:05}"
        rows = []
        for _ in range(SETUPS[position % len(SETUPS)]):
            at = rank % len(template.rows)
            rank += 1
            rows.append((_renamed(template.rows[at], symbol, rank), template.evidence[at]))
        kept = HISTORY[position % len(HISTORY)]
        times = kept // len(template.history) + 1
        pairs = [*zip(template.outcomes, template.history, strict=True)] * times
        outcomes = "".join(letter for letter, _ in pairs[:kept])
        yield SymbolRecords(symbol, rows, outcomes, [row for _, row in pairs[:kept]])


def _renamed(row: ScanSetup, symbol: str, rank: int) -> ScanSetup:
    old = row.symbol.encode()
    body = row.model_dump_json().encode()
    body = body.replace(b'"%b"' % old, b'"%b"' % symbol.encode())
    renamed = ScanSetup.model_validate_json(body.replace(b" on %b:" % old, b" on A name:"))
    return renamed.model_copy(
        update={"rank": rank, "setup_id": f"{rank:016}", "lineage_id": f"L{rank:015}"}
    )


def _numbers(names: Sequence[str], rows: int) -> dict[str, npt.NDArray[np.float64]]:
    random = np.random.default_rng(7)
    found = {name: random.normal(0, 20, rows) for name in names}
    found["rsi"] = random.uniform(5, 95, rows)
    found["dollar_volume"] = random.lognormal(16, 2, rows)
    found["dist_to_entry"] = random.exponential(5, rows)
    for values in found.values():
        values[random.random(rows) < 0.02] = np.nan
    return found


def seal(market: SyntheticMarket, folder: Path) -> None:
    """Make the market the active night of a data folder."""
    inputs = Inputs(
        bars="synthetic",
        bars_sha256="0" * 64,
        reference_sha256=None,
        parameters={"symbols": len(market.listings)},
        code_version="1",
    )
    writer = BookWriter(
        Nights(folder), session=SESSION, source=SOURCE, disclaimer="Not advice.", inputs=inputs
    )
    with writer:
        for listing in market.listings:
            _write_listing(writer, listing, market.prices)
        writer.add_scan(market.scan)
        for name, values in market.numbers.items():
            writer.add_numbers(name, values)
        for name, labels in market.labels.items():
            writer.add_labels(name, labels)
        for entry in market.families:
            writer.add_family(entry)
        writer.add_universe([{"symbol": listing.symbol} for listing in market.listings])
        writer.publish(0)


def _write_listing(writer: BookWriter, listing: SymbolRecords, prices: Prices) -> None:
    writer.add_symbol(listing.symbol, covered=True, reason=None)
    writer.add_patterns(listing.patterns)
    for row, evidence in listing.rows:
        writer.add_setup(plain_setup(row), evidence)
    writer.add_history(listing.symbol, listing.outcomes, listing.history)
    writer.add_prices(listing.symbol, prices)
